! SPDX-License-Identifier: BSD-3-Clause
!
! Device buffers in Fortran, in each of its bindings: BINDING_MPIF (mpif.h), BINDING_MPI (module mpi) or
! BINDING_F08 (module mpi_f08). The interposer catches what the MPI's Fortran library calls in C, so the handles,
! MPI_IN_PLACE, MPI_BOTTOM and the ignored statuses are the Fortran binding's own.
#if defined(BINDING_F08)
#define HANDLE(Name) type(MPI_/**/Name)
#define STATUS_ONE type(MPI_Status) ::
#define STATUS_MANY(n) type(MPI_Status), dimension(n) ::
#define USE_BINDING use mpi_f08
#define INCLUDE_BINDING
#else
#define HANDLE(Name) integer
#define STATUS_ONE integer, dimension(MPI_STATUS_SIZE) ::
#define STATUS_MANY(n) integer, dimension(MPI_STATUS_SIZE, n) ::
#if defined(BINDING_MPI)
#define USE_BINDING use mpi
#define INCLUDE_BINDING
#else
#define USE_BINDING use, intrinsic :: iso_c_binding
#define INCLUDE_BINDING include 'mpif.h'
#endif
#endif

module device_memory
    use, intrinsic :: iso_c_binding
    implicit none
    integer, parameter :: n = 40, m = 30
    integer :: failures = 0, rank = -1, ranks = 0

    interface
        function device_allocate(bytes) bind(C)
            import :: c_ptr, c_size_t
            integer(c_size_t), value :: bytes
            type(c_ptr) :: device_allocate
        end function
        subroutine device_release(memory, bytes) bind(C)
            import :: c_ptr, c_size_t
            type(c_ptr), value :: memory
            integer(c_size_t), value :: bytes
        end subroutine
        subroutine device_copy(to, from, bytes) bind(C)
            import :: c_ptr, c_size_t
            type(c_ptr), value :: to, from
            integer(c_size_t), value :: bytes
        end subroutine
    end interface

    ! A matrix on the device. The processor has no access to it: `at` is passed to MPI alone.
    type :: Matrix
        type(c_ptr) :: memory
        real(c_double), pointer, contiguous :: at(:, :)
    end type

contains

    function bytes() result(all)
        integer(c_size_t) :: all
        all = 8_c_size_t * n * m
    end function

    subroutine make(it, seed)
        type(Matrix), intent(out) :: it
        integer, intent(in) :: seed
        real(c_double), target :: host(n, m)
        integer :: i, j
        it%memory = device_allocate(bytes())
        call c_f_pointer(it%memory, it%at, [n, m])
        do j = 1, m
            do i = 1, n
                host(i, j) = value_of(seed, i, j)
            end do
        end do
        call device_copy(it%memory, c_loc(host), bytes())
    end subroutine

    subroutine drop(it)
        type(Matrix), intent(inout) :: it
        call device_release(it%memory, bytes())
    end subroutine

    real(c_double) function value_of(seed, i, j)
        integer, intent(in) :: seed, i, j
        value_of = 1d6 * seed + 1d3 * i + j
    end function

    ! Row 3 should be of `factor` times `seed`'s values, all else of its maker's.
    subroutine expect_row(it, own, seed, factor, what)
        type(Matrix), intent(in) :: it
        integer, intent(in) :: own, seed
        real(c_double), intent(in) :: factor
        character(*), intent(in) :: what
        real(c_double), target :: host(n, m)
        real(c_double) :: wanted
        integer :: i, j
        call device_copy(c_loc(host), it%memory, bytes())
        do j = 1, m
            do i = 1, n
                wanted = value_of(own, i, j)
                if (i == 3) wanted = factor * value_of(seed, i, j)
                if (host(i, j) /= wanted) then
                    failures = failures + 1
                    print *, 'rank', rank, what, i, j, host(i, j), 'not', wanted
                    return
                end if
            end do
        end do
    end subroutine

    subroutine check(holds, what)
        logical, intent(in) :: holds
        character(*), intent(in) :: what
        if (holds) return
        failures = failures + 1
        print *, 'rank', rank, what
    end subroutine
end module

program calls
    USE_BINDING
    use device_memory
    implicit none
    INCLUDE_BINDING
    HANDLE(Datatype) :: row
    integer :: error, all_failures

    call MPI_Init(error)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
    call MPI_Type_vector(m, 1, n, MPI_DOUBLE_PRECISION, row, error)
    call MPI_Type_commit(row, error)
    call blocking()
    call nonblocking()
    call one_by_one()
    call persistent()
    call probed()
    call collective()
    call packed()
    call absolute()
    call in_a_file()
    call MPI_Type_free(row, error)
    call MPI_Allreduce(failures, all_failures, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
    call MPI_Finalize(error)
    if (all_failures /= 0) stop 1

contains

    integer function right()
        right = mod(rank + 1, ranks)
    end function

    integer function left()
        left = mod(rank + ranks - 1, ranks)
    end function

    subroutine blocking()
        type(Matrix) :: from, to
        STATUS_ONE status
        integer :: elements
        call make(from, rank)
        call make(to, 50)
        call MPI_Sendrecv(from%at(3, 1), 1, row, right(), 1, to%at(3, 1), 1, row, left(), 1, MPI_COMM_WORLD, &
                          status, error)
        call expect_row(to, 50, left(), 1d0, 'MPI_Sendrecv')
        call MPI_Get_count(status, MPI_DOUBLE_PRECISION, elements, error)
        call check(elements == m, 'MPI_Sendrecv: the count')
#if defined(BINDING_F08)
        call check(status%MPI_SOURCE == left(), 'MPI_Sendrecv: the source')
#else
        call check(status(MPI_SOURCE) == left(), 'MPI_Sendrecv: the source')
#endif
        call drop(from)
        call drop(to)
    end subroutine

    subroutine nonblocking()
        type(Matrix) :: from, to
        HANDLE(Request) :: requests(2)
        STATUS_MANY(2) statuses
        integer :: elements, ignored
        do ignored = 0, 1
            call make(from, rank)
            call make(to, 50)
            call MPI_Irecv(to%at(3, 1), 1, row, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, requests(1), error)
            call MPI_Isend(from%at(3, 1), 1, row, right(), 1, MPI_COMM_WORLD, requests(2), error)
            if (ignored == 1) then
                call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, error)
            else
                call MPI_Waitall(2, requests, statuses, error)
#if defined(BINDING_F08)
                call MPI_Get_count(statuses(1), row, elements, error)
#else
                call MPI_Get_count(statuses(:, 1), row, elements, error)
#endif
                call check(elements == 1, 'MPI_Waitall: the count')
            end if
            call expect_row(to, 50, left(), 1d0, 'MPI_Waitall')
            call check(requests(1) == MPI_REQUEST_NULL, 'MPI_Waitall leaves a request')
            call drop(from)
            call drop(to)
        end do
    end subroutine

    subroutine one_by_one()
        type(Matrix) :: from, to
        HANDLE(Request) :: requests(2)
        integer :: found, i
        logical :: is_over
        call make(from, rank)
        call make(to, 50)
        call MPI_Irecv(to%at(3, 1), 1, row, left(), 1, MPI_COMM_WORLD, requests(1), error)
        call MPI_Isend(from%at(3, 1), 1, row, right(), 1, MPI_COMM_WORLD, requests(2), error)
        do i = 1, 2
            call MPI_Waitany(2, requests, found, MPI_STATUS_IGNORE, error)
        end do
        call expect_row(to, 50, left(), 1d0, 'MPI_Waitany')
        call MPI_Irecv(to%at(3, 1), 1, row, right(), 1, MPI_COMM_WORLD, requests(1), error)
        call MPI_Isend(from%at(3, 1), 1, row, left(), 1, MPI_COMM_WORLD, requests(2), error)
        is_over = .false.
        do while (.not. is_over)
            call MPI_Testall(2, requests, is_over, MPI_STATUSES_IGNORE, error)
        end do
        call expect_row(to, 50, right(), 1d0, 'MPI_Testall')
        call drop(from)
        call drop(to)
    end subroutine

    subroutine persistent()
        type(Matrix) :: from, to
        HANDLE(Request) :: requests(2)
        integer :: turn
        call make(from, rank)
        call make(to, 50)
        call MPI_Recv_init(to%at(3, 1), 1, row, left(), 1, MPI_COMM_WORLD, requests(1), error)
        call MPI_Send_init(from%at(3, 1), 1, row, right(), 1, MPI_COMM_WORLD, requests(2), error)
        do turn = 1, 2
            call MPI_Startall(2, requests, error)
            call MPI_Wait(requests(1), MPI_STATUS_IGNORE, error)
            call MPI_Wait(requests(2), MPI_STATUS_IGNORE, error)
        end do
        call expect_row(to, 50, left(), 1d0, 'MPI_Startall')
        call MPI_Request_free(requests(1), error)
        call MPI_Request_free(requests(2), error)
        call drop(from)
        call drop(to)
    end subroutine

    subroutine probed()
        type(Matrix) :: from, to
        HANDLE(Request) :: request
        HANDLE(Message) :: message
        STATUS_ONE status
        integer :: elements
        call make(from, rank)
        call make(to, 50)
        call MPI_Isend(from%at(3, 1), 1, row, right(), 7, MPI_COMM_WORLD, request, error)
        call MPI_Mprobe(MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, message, status, error)
        call MPI_Get_count(status, MPI_DOUBLE_PRECISION, elements, error)
        call check(elements == m, 'MPI_Mprobe: the count')
        call MPI_Mrecv(to%at(3, 1), 1, row, message, MPI_STATUS_IGNORE, error)
        call MPI_Wait(request, MPI_STATUS_IGNORE, error)
        call expect_row(to, 50, left(), 1d0, 'MPI_Mrecv')
        call drop(from)
        call drop(to)
    end subroutine

    subroutine collective()
        type(Matrix) :: it
        HANDLE(Request) :: request
        call make(it, 1)
        call MPI_Allreduce(MPI_IN_PLACE, it%at(1, 1), n * m, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, error)
        call expect_row(it, 1, 1, 1d0, 'MPI_Allreduce')
        call drop(it)
        call make(it, rank)
        call MPI_Bcast(it%at(3, 1), 1, row, ranks - 1, MPI_COMM_WORLD, error)
        call expect_row(it, rank, ranks - 1, 1d0, 'MPI_Bcast')
        call MPI_Ibcast(it%at(3, 1), 1, row, 0, MPI_COMM_WORLD, request, error)
        call MPI_Wait(request, MPI_STATUS_IGNORE, error)
        call expect_row(it, rank, ranks - 1, 1d0, 'MPI_Ibcast')
        call drop(it)
    end subroutine

    subroutine packed()
        type(Matrix) :: from, to
        character :: buffer(8 * m)
        integer :: position
        call make(from, rank)
        call make(to, 50)
        position = 0
        call MPI_Pack(from%at(3, 1), 1, row, buffer, 8 * m, position, MPI_COMM_WORLD, error)
        call check(position == 8 * m, 'MPI_Pack: the position')
        position = 0
        call MPI_Unpack(buffer, 8 * m, position, to%at(3, 1), 1, row, MPI_COMM_WORLD, error)
        call expect_row(to, 50, rank, 1d0, 'MPI_Unpack')
        call drop(from)
        call drop(to)
    end subroutine

    subroutine absolute()
        type(Matrix) :: it
        HANDLE(Datatype) :: there
        integer(MPI_ADDRESS_KIND) :: places(1)
        call make(it, rank)
        places(1) = transfer(c_loc(it%at(3, 1)), places(1))
        call MPI_Type_create_hindexed(1, [1], places, row, there, error)
        call MPI_Type_commit(there, error)
        call MPI_Bcast(MPI_BOTTOM, 1, there, 0, MPI_COMM_WORLD, error)
        call MPI_Type_free(there, error)
        call expect_row(it, rank, 0, 1d0, 'MPI_BOTTOM')
        call drop(it)
    end subroutine

    subroutine in_a_file()
        type(Matrix) :: it
        HANDLE(File) :: file
        integer(MPI_OFFSET_KIND) :: offset
        call make(it, rank)
        call MPI_File_open(MPI_COMM_WORLD, 'fortran.bin', MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, file, error)
        offset = 8 * m * rank
        call MPI_File_write_at_all(file, offset, it%at(3, 1), 1, row, MPI_STATUS_IGNORE, error)
        call MPI_File_sync(file, error)
        call MPI_Barrier(MPI_COMM_WORLD, error)
        offset = 8 * m * left()
        call MPI_File_read_at(file, offset, it%at(3, 1), 1, row, MPI_STATUS_IGNORE, error)
        call MPI_File_close(file, error)
        call expect_row(it, rank, left(), 1d0, 'MPI_File_read_at')
        call drop(it)
    end subroutine
end program
