! SPDX-License-Identifier: BSD-3-Clause
! Fortran's array sections as buffers (mpi_f08, MPI 4.0, section 19.1.12): a datatype counts in the section's elements as if
! they lay one after the other. Any datatype, any number of elements, at either end.
! processes: 1 2
program sections
  use mpi_f08
  implicit none
  integer :: failures, rank, all
  failures = 0
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN)
  if (MPI_SUBARRAYS_SUPPORTED) then
    call test_predefined()
    call test_vector()
    call test_struct()
    call test_bytes()
    call test_parts()
    call test_backwards()
    call test_nonblocking()
    call test_replaced()
    call test_persistent()
    call test_windows()
    call test_files()
    call test_too_small()
  end if
  call MPI_Allreduce(failures, all, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call MPI_Finalize()
  if (all /= 0) stop 1
contains

  subroutine check(found, expected, what)
    integer, intent(in) :: found, expected
    character(*), intent(in) :: what
    if (found == expected) return
    failures = failures + 1
    if (failures <= 20) print *, 'rank', rank, ': ', what, ':', found, ' instead of', expected
  end subroutine

  ! Each element tells its place.
  function numbered(rows, columns) result(a)
    integer, intent(in) :: rows, columns
    integer :: a(rows, columns), i, j
    do j = 1, columns
      do i = 1, rows
        a(i, j) = 100 * i + j
      end do
    end do
  end function

  subroutine test_predefined()
    integer :: a(8, 8), b(8, 8), i, j
    a = numbered(8, 8)
    b = -1
    call MPI_Sendrecv(a(2:8:2, 1:8:3), 12, MPI_INTEGER, 0, 1, b(1:4, 1:3), 12, MPI_INTEGER, 0, 1, MPI_COMM_SELF, &
                      MPI_STATUS_IGNORE)
    do j = 1, 3
      do i = 1, 4
        call check(b(i, j), a(2 * i, 3 * j - 2), 'integers')
      end do
    end do
    call check(b(5, 1), -1, 'integers: behind the section')
  end subroutine

  subroutine test_vector()
    integer :: a(16, 2), b(16, 2), i
    type(MPI_Datatype) :: every_second, pairs
    call MPI_Type_vector(4, 1, 2, MPI_INTEGER, every_second)
    call MPI_Type_commit(every_second)
    call MPI_Type_contiguous(2, MPI_INTEGER, pairs)
    call MPI_Type_commit(pairs)
    a = numbered(16, 2)
    ! every second of every second: rows 1, 5, 9, 13
    b = -1
    call MPI_Sendrecv(a(1:16:2, 1), 1, every_second, 0, 1, b, 4, MPI_INTEGER, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE)
    do i = 1, 4
      call check(b(i, 1), a(4 * i - 3, 1), 'a vector of a section')
    end do
    b = -1
    call MPI_Sendrecv(a, 4, MPI_INTEGER, 0, 1, b(2:16:2, 2), 1, every_second, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE)
    do i = 1, 4
      call check(b(4 * i - 2, 2), a(i, 1), 'into a vector of a section')
      call check(b(4 * i, 2), -1, 'the gaps of a vector of a section')
    end do
    ! two at a time, over two columns
    b = -1
    call MPI_Sendrecv(a(1:16:4, :), 3, pairs, 0, 1, b, 6, MPI_INTEGER, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE)
    do i = 1, 6
      call check(b(i, 1), a(4 * mod(i - 1, 4) + 1, (i - 1) / 4 + 1), 'pairs of a section')
    end do
    call MPI_Type_free(every_second)
    call MPI_Type_free(pairs)
  end subroutine

  subroutine test_struct()
    integer :: a(12), b(12), i
    type(MPI_Datatype) :: mixed
    ! elements 3 and 1 of each four, as an integer and four bytes
    call MPI_Type_create_struct(2, [1, 4], [8_MPI_ADDRESS_KIND, 0_MPI_ADDRESS_KIND], [MPI_INTEGER, MPI_BYTE], mixed)
    call MPI_Type_commit(mixed)
    a = [(i, i = 1, 12)]
    b = -1
    call MPI_Sendrecv(a(1:12:2), 1, mixed, 0, 1, b, 1, mixed, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE)
    call check(b(3), 5, 'a struct of a section')
    call check(b(1), 1, 'a struct of a section')
    call check(b(2), -1, 'a struct of a section: its gap')
    call MPI_Type_free(mixed)
  end subroutine

  subroutine test_bytes()
    integer :: a(12), b(12), i
    a = [(i, i = 1, 12)]
    b = -1
    call MPI_Sendrecv(a(2:12:3), 14, MPI_BYTE, 0, 1, b(1:12:2), 14, MPI_BYTE, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE)
    do i = 1, 3
      call check(b(2 * i - 1), a(3 * i - 1), 'bytes of a section')
    end do
    call check(iand(b(7), 65535), a(11), 'bytes of a section: half an element')
  end subroutine

  ! Not whole columns.
  subroutine test_parts()
    integer :: a(6, 3), b(20), i, n
    a = numbered(6, 3)
    do n = 1, 9
      b = -1
      call MPI_Sendrecv(a(1:6:2, :), n, MPI_INTEGER, 0, 1, b(1:20:2), n, MPI_INTEGER, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE)
      do i = 1, n
        call check(b(2 * i - 1), a(2 * mod(i - 1, 3) + 1, (i - 1) / 3 + 1), 'some elements of a section')
      end do
      call check(b(2 * n + 1), -1, 'some elements of a section: behind them')
    end do
  end subroutine

  subroutine test_backwards()
    integer :: a(10), b(10), i
    type(MPI_Datatype) :: every_second
    call MPI_Type_vector(2, 1, 2, MPI_INTEGER, every_second)
    call MPI_Type_commit(every_second)
    a = [(i, i = 1, 10)]
    b = -1
    call MPI_Sendrecv(a(10:1:-3), 4, MPI_INTEGER, 0, 1, b, 4, MPI_INTEGER, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE)
    do i = 1, 4
      call check(b(i), 13 - 3 * i, 'backwards')
    end do
    call MPI_Sendrecv(a(10:1:-3), 1, every_second, 0, 1, b, 2, MPI_INTEGER, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE)
    call check(b(1), 10, 'a vector backwards')
    call check(b(2), 4, 'a vector backwards')
    call MPI_Type_free(every_second)
  end subroutine

  subroutine test_nonblocking()
    integer, asynchronous :: a(8, 8), b(8, 8)
    integer :: i
    type(MPI_Datatype) :: every_second
    type(MPI_Request) :: requests(2)
    call MPI_Type_vector(2, 1, 2, MPI_INTEGER, every_second)
    call MPI_Type_commit(every_second)
    a = numbered(8, 8)
    b = -1
    call MPI_Irecv(b(3, 1:8:2), 1, every_second, 0, 2, MPI_COMM_SELF, requests(1))
    call MPI_Isend(a(2, 1:8:2), 1, every_second, 0, 2, MPI_COMM_SELF, requests(2))
    call MPI_Type_free(every_second)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
    do i = 1, 5, 4
      call check(b(3, i), a(2, i), 'nonblocking, a row')
    end do
    call check(b(3, 3), -1, 'nonblocking, a row: its gap')
  end subroutine

  subroutine test_replaced()
    integer :: a(4, 6), i
    a = numbered(4, 6)
    call MPI_Sendrecv_replace(a(2, 1:6:2), 3, MPI_INTEGER, 0, 1, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE)
    call check(count(a == numbered(4, 6)), 24, 'replaced by itself')
    call MPI_Sendrecv(a(2, 1:6:2), 3, MPI_INTEGER, 0, 1, a(3, 2:6:2), 3, MPI_INTEGER, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE)
    do i = 1, 5, 2
      call check(a(3, i + 1), a(2, i), 'from row to row')
    end do
  end subroutine

  subroutine test_persistent()
    integer, asynchronous :: a(12), b(12)
    integer :: i, round
    type(MPI_Request) :: requests(2)
    call MPI_Recv_init(b(2:12:4), 3, MPI_INTEGER, 0, 3, MPI_COMM_SELF, requests(1))
    call MPI_Send_init(a(1:12:5), 3, MPI_INTEGER, 0, 3, MPI_COMM_SELF, requests(2))
    do round = 1, 2
      a = [(100 * round + i, i = 1, 12)]
      b = -1
      call MPI_Startall(2, requests)
      call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
      do i = 0, 2
        call check(b(2 + 4 * i), 100 * round + 1 + 5 * i, 'persistent')
      end do
      call check(count(b == -1), 9, 'persistent, between the elements')
    end do
    call MPI_Request_free(requests(1))
    call MPI_Request_free(requests(2))
  end subroutine

  subroutine test_windows()
    integer, asynchronous :: memory(12), a(12), b(12)
    integer :: i
    type(MPI_Win) :: window
    memory = 0
    a = [(i, i = 1, 12)]
    b = -1
    call MPI_Win_create(memory, 48_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_SELF, window)
    call MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window)
    call MPI_Put(a(1:12:2), 6, MPI_INTEGER, 0, 0_MPI_ADDRESS_KIND, 6, MPI_INTEGER, window)
    call MPI_Win_flush(0, window)
    call MPI_Accumulate(a(1:12:4), 3, MPI_INTEGER, 0, 0_MPI_ADDRESS_KIND, 3, MPI_INTEGER, MPI_SUM, window)
    call MPI_Win_flush(0, window)
    call MPI_Get(b(1:12:2), 6, MPI_INTEGER, 0, 0_MPI_ADDRESS_KIND, 6, MPI_INTEGER, window)
    call MPI_Win_flush(0, window)
    do i = 0, 5
      call check(b(2 * i + 1), 2 * i + 1 + merge(4 * i + 1, 0, i < 3), 'put, added to and got')
      call check(b(2 * i + 2), -1, 'got, between the elements')
    end do
    call MPI_Get_accumulate(a(2:12:4), 3, MPI_INTEGER, b(2:12:2), 3, MPI_INTEGER, 0, 3_MPI_ADDRESS_KIND, 3, MPI_INTEGER, &
                            MPI_SUM, window)
    call MPI_Win_unlock(0, window)
    do i = 0, 2
      call check(b(2 * i + 2), 2 * i + 7, 'got before it was added to')
      call check(memory(i + 4), 2 * i + 7 + 4 * i + 2, 'added to')
    end do
    call MPI_Win_free(window)
  end subroutine

  subroutine test_files()
    integer, asynchronous :: a(4, 6), b(4, 6)
    integer :: i
    type(MPI_File) :: file
    type(MPI_Request) :: request
    character(20) :: name
    write (name, '(a, i0)') 'sections.', rank
    a = numbered(4, 6)
    b = -1
    call MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE + MPI_MODE_RDWR + MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, file)
    call MPI_File_write_at_all(file, 0_MPI_OFFSET_KIND, a(2, 1:6:2), 3, MPI_INTEGER, MPI_STATUS_IGNORE)
    call MPI_File_read_at(file, 0_MPI_OFFSET_KIND, b(1:4:3, 1:2), 3, MPI_INTEGER, MPI_STATUS_IGNORE)
    call check(b(1, 1), a(2, 1), 'read')
    call check(b(4, 1), a(2, 3), 'read')
    call check(b(1, 2), a(2, 5), 'read')
    call check(count(b == -1), 21, 'read, between the elements')
    call MPI_File_iread_at(file, 0_MPI_OFFSET_KIND, b(3, 1:6:2), 3, MPI_INTEGER, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    do i = 1, 5, 2
      call check(b(3, i), a(2, i), 'read without blocking')
    end do
    call MPI_File_close(file)
  end subroutine

  ! More elements than the section has.
  subroutine test_too_small()
    integer :: a(12), ierr
    a = 0
    call MPI_Send(a(1:12:2), 7, MPI_INTEGER, MPI_PROC_NULL, 1, MPI_COMM_SELF, ierr)
    if (ierr == MPI_SUCCESS) call check(0, 1, 'a section that is too small is no error')
  end subroutine
end program
