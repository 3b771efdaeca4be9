# SPDX-License-Identifier: BSD-3-Clause
"""heddle_place of a libheddle, as include/heddle_placement.h declares it."""
import ctypes
import time

from commands import Failure


class Problem(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_size_t), ("vertices", ctypes.c_int32), ("slots", ctypes.c_int32),
                ("node", ctypes.POINTER(ctypes.c_int32)), ("rates", ctypes.POINTER(ctypes.c_double)),
                ("edges", ctypes.c_int64), ("from_", ctypes.POINTER(ctypes.c_int32)),
                ("to", ctypes.POINTER(ctypes.c_int32)), ("weight", ctypes.POINTER(ctypes.c_int64)),
                ("milliseconds", ctypes.c_int64)]


def array(kind, values):
    return (kind * len(values))(*values)


class Library:
    def __init__(self, path):
        self.heddle = ctypes.CDLL(str(path))

    def place(self, ranks, node_of, edges, rates):
        """The slot of each rank, and the processor time that it took."""
        slots = (ctypes.c_int32 * ranks)()
        problem = Problem(ctypes.sizeof(Problem), ranks, ranks, array(ctypes.c_int32, node_of),
                          array(ctypes.c_double, rates), len(edges),
                          array(ctypes.c_int32, [edge[0] for edge in edges]),
                          array(ctypes.c_int32, [edge[1] for edge in edges]),
                          array(ctypes.c_int64, [edge[2] for edge in edges]), 5000)
        begin = time.process_time()
        error = self.heddle.heddle_place(ctypes.byref(problem), slots, None)
        if error:
            raise Failure(f"heddle_place: error {error}")
        return list(slots), time.process_time() - begin
