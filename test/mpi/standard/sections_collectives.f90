! SPDX-License-Identifier: BSD-3-Clause
! Fortran's array sections in collectives (mpi_f08, MPI 4.0, section 19.1.12): those whose buffers hold a block for each process,
! and reductions. Sections at either end, blocking, nonblocking and persistent, and in place. What lies between the section's
! elements, or between its blocks, stays as it was.
! processes: 1 2 3 5
module sections_collectives_test
  use mpi_f08
  implicit none
  integer, parameter :: dp = kind(1d0), b = 3, rows = 5
  real(dp), parameter :: untouched = -1, gap = -2
  enum, bind(c)
    enumerator :: blocking, nonblocking, persistent
  end enum
  integer :: failures = 0, rank, size_, root, left, right, elements, columns
  type(MPI_Comm) :: comm, ring
  type(MPI_Datatype) :: element, every_second
  type(MPI_Request) :: request
  real(dp), allocatable, target, asynchronous :: send_store(:, :), recv_store(:, :)
  real(dp), pointer, asynchronous :: s(:, :), r(:, :)
  real(dp), allocatable :: e(:)
  ! of blocks of several sizes: what is gathered, and what is exchanged
  integer, allocatable :: counts(:), at(:), sizes(:), send_at(:), recv_at(:), twos(:), ones(:)
  integer, allocatable :: send_bytes(:), recv_bytes(:), apart(:)
  integer(MPI_ADDRESS_KIND), allocatable :: far(:)
  type(MPI_Datatype), allocatable :: doubles(:), spread_out(:)
contains

  subroutine set_up()
    integer :: q
    call MPI_Comm_dup(MPI_COMM_WORLD, comm)
    call MPI_Comm_rank(comm, rank)
    call MPI_Comm_size(comm, size_)
    call MPI_Cart_create(comm, 1, [size_], [.true.], .false., ring)
    left = mod(rank + size_ - 1, size_)
    right = mod(rank + 1, size_)
    root = size_ - 1
    element = MPI_DOUBLE_PRECISION
    call MPI_Type_vector(2, 1, 2, element, every_second)
    call MPI_Type_commit(every_second)
    columns = (4 * max(size_, 2)) / rows + 2
    elements = rows * columns
    allocate (send_store(2 * rows, 3 * columns), recv_store(2 * rows, 3 * columns), e(0:elements - 1))
    counts = [(mod(q, 3) + 1, q = 0, size_ - 1)]
    at = [(4 * (size_ - 1 - q), q = 0, size_ - 1)]
    sizes = [(mod(rank + q, 3) + 1, q = 0, size_ - 1)]
    send_at = [(4 * q, q = 0, size_ - 1)]
    recv_at = at
    send_bytes = 8 * send_at
    recv_bytes = 8 * recv_at
    ones = [(1, q = 1, max(size_, 2))]
    twos = 2 * ones
    apart = [0, 4]
    far = [0_MPI_ADDRESS_KIND, 32_MPI_ADDRESS_KIND]
    doubles = [(element, q = 1, max(size_, 2))]
    spread_out = [(every_second, q = 1, max(size_, 2))]
  end subroutine

  ! Element k of a process, different each time that a persistent call starts.
  pure real(dp) function val(from, k, round)
    integer, intent(in) :: from, k, round
    val = 1000 * from + k + 100000 * round
  end function

  pure real(dp) function total(first, last, k, round)
    integer, intent(in) :: first, last, k, round
    integer :: q
    total = 0
    do q = first, last
      total = total + val(q, k, round)
    end do
  end function

  function view(store, layout) result(v)
    real(dp), target, intent(in) :: store(:, :)
    integer, intent(in) :: layout
    real(dp), pointer :: v(:, :)
    select case (layout)
    case (1) ! elements apart
      v => store(2:2 * rows:2, 1:columns)
    case (2) ! columns apart
      v => store(1:rows, 1:3 * columns:3)
    case default ! backwards
      v => store(2 * rows:1:-2, 3 * columns:1:-3)
    end select
  end function

  ! Layout 0 is an array that is no section.
  subroutine prepare(send_layout, recv_layout)
    integer, intent(in) :: send_layout, recv_layout
    if (associated(s)) nullify (s)
    if (send_layout == 0) then
      allocate (s(rows, columns))
    else
      s => view(send_store, send_layout)
    end if
    if (recv_layout == 0) then
      allocate (r(rows, columns))
    else
      r => view(recv_store, recv_layout)
    end if
  end subroutine

  subroutine release(send_layout, recv_layout)
    integer, intent(in) :: send_layout, recv_layout
    if (send_layout == 0) deallocate (s)
    if (recv_layout == 0) deallocate (r)
    nullify (s, r)
  end subroutine

  subroutine put(v, k, number)
    real(dp), intent(inout) :: v(:, :)
    integer, intent(in) :: k
    real(dp), intent(in) :: number
    v(mod(k, rows) + 1, k / rows + 1) = number
  end subroutine

  ! In place the receive buffer has what is sent; where a process finds its own block there, `own` says at which element.
  subroutine fill(in_place, own, n, round)
    logical, intent(in) :: in_place
    integer, intent(in) :: own, n, round
    integer :: k
    recv_store = gap
    r = untouched
    send_store = gap
    do k = 0, elements - 1
      call put(s, k, val(rank, k, round))
    end do
    if (.not. in_place) return
    do k = 0, n - 1
      call put(r, own + k, val(rank, k, round))
    end do
  end subroutine

  subroutine check(what, form, is_section)
    character(*), intent(in) :: what
    integer, intent(in) :: form
    logical, intent(in) :: is_section
    integer :: k
    do k = 0, elements - 1
      if (r(mod(k, rows) + 1, k / rows + 1) == e(k)) cycle
      failures = failures + 1
      if (failures <= 20) print *, 'rank', rank, ': ', what, ', form', form, ', element', k, ':', &
        r(mod(k, rows) + 1, k / rows + 1), ' instead of', e(k)
    end do
    if (is_section .and. count(recv_store == gap) /= size(recv_store) - elements) then
      failures = failures + 1
      print *, 'rank', rank, ': ', what, ', form', form, ': changed something between the elements'
    end if
  end subroutine
end module

program sections_collectives
  use sections_collectives_test
  implicit none
  character(22), parameter :: calls(22) = [character(22) :: 'Gather', 'Gatherv', 'Scatter', 'Scatterv', 'Allgather', &
    'Allgatherv', 'Alltoall', 'Alltoallv', 'Alltoallw', 'Neighbor_allgather', 'Neighbor_allgatherv', 'Neighbor_alltoall', &
    'Neighbor_alltoallv', 'Neighbor_alltoallw', 'Reduce', 'Allreduce', 'Scan', 'Exscan', 'Reduce_scatter', &
    'Reduce_scatter_block', 'Reduce_local', 'Pack']
  integer :: form, send_layout, recv_layout, n, all
  call MPI_Init()
  call set_up()
  if (MPI_SUBARRAYS_SUPPORTED) then
    do n = 1, size(calls)
      do form = blocking, persistent
        do recv_layout = 0, 3
          do send_layout = 0, 3
            call test(trim(calls(n)), form, .false., send_layout, recv_layout)
          end do
          call test(trim(calls(n)), form, .true., 0, recv_layout)
        end do
      end do
    end do
    call test_types()
    if (size_ > 1) call test_groups()
    call test_errors()
  end if
  call MPI_Allreduce(failures, all, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call MPI_Finalize()
  if (all /= 0) stop 1
contains

  subroutine test(what, form, in_place, send_layout, recv_layout)
    character(*), intent(in) :: what
    integer, intent(in) :: form, send_layout, recv_layout
    logical, intent(in) :: in_place
    integer :: round
    if (in_place .and. .not. has_in_place(what)) return
    if (form /= blocking .and. (what == 'Reduce_local' .or. what == 'Pack')) return
    call prepare(send_layout, recv_layout)
    call begin_round(what, in_place, 0)
    call begin(what, form, in_place)
    if (form == persistent) then
      do round = 1, 2
        call begin_round(what, in_place, round)
        call MPI_Start(request)
        call put(r, elements - 1, 5d0) ! which no block has
        call MPI_Wait(request, MPI_STATUS_IGNORE)
        call check(named(what, in_place), form, recv_layout /= 0)
      end do
      call MPI_Request_free(request)
    else
      call put(r, elements - 1, 5d0)
      if (form == nonblocking) call MPI_Wait(request, MPI_STATUS_IGNORE)
      call check(named(what, in_place), form, recv_layout /= 0)
    end if
    call release(send_layout, recv_layout)
  end subroutine

  function named(what, in_place) result(name)
    character(*), intent(in) :: what
    logical, intent(in) :: in_place
    character(:), allocatable :: name
    name = what
    if (in_place) name = what//' in place'
  end function

  logical function has_in_place(what)
    character(*), intent(in) :: what
    has_in_place = what /= 'Pack' .and. what /= 'Reduce_local' .and. what /= 'Scatter' .and. what /= 'Scatterv' .and. &
                   what(1:min(8, len(what))) /= 'Neighbor'
  end function

  ! What is sent, and what is expected.
  subroutine begin_round(what, in_place, round)
    character(*), intent(in) :: what
    logical, intent(in) :: in_place
    integer, intent(in) :: round
    integer :: own, n, k
    own = 0
    n = elements - 1
    select case (what)
    case ('Gather', 'Allgather')
      own = rank * b
      n = b
    case ('Gatherv', 'Allgatherv')
      own = at(rank + 1)
      n = counts(rank + 1)
    end select
    if (in_place .and. rank /= root .and. (what == 'Gather' .or. what == 'Gatherv' .or. what == 'Reduce')) n = 0
    call fill(in_place, own, n, round)
    e = untouched
    if (in_place) e(own:own + n - 1) = [(val(rank, k, round), k = 0, n - 1)]
    call expect(what, in_place, round)
    e(elements - 1) = 5
  end subroutine

  subroutine expect(what, in_place, round)
    character(*), intent(in) :: what
    logical, intent(in) :: in_place
    integer, intent(in) :: round
    integer :: q, i, before
    do q = 0, size_ - 1
      select case (what)
      case ('Gather')
        if (rank == root) e(q * b:q * b + b - 1) = [(val(q, i, round), i = 0, b - 1)]
      case ('Allgather')
        e(q * b:q * b + b - 1) = [(val(q, i, round), i = 0, b - 1)]
      case ('Gatherv')
        if (rank == root) e(at(q + 1):at(q + 1) + counts(q + 1) - 1) = [(val(q, i, round), i = 0, counts(q + 1) - 1)]
      case ('Allgatherv')
        e(at(q + 1):at(q + 1) + counts(q + 1) - 1) = [(val(q, i, round), i = 0, counts(q + 1) - 1)]
      case ('Alltoall')
        e(q * b:q * b + b - 1) = [(val(q, rank * b + i, round), i = 0, b - 1)]
      case ('Alltoallv')
        if (in_place) then
          e(recv_at(q + 1):recv_at(q + 1) + sizes(q + 1) - 1) = &
            [(val(q, 4 * (size_ - 1 - rank) + i, round), i = 0, sizes(q + 1) - 1)]
        else
          e(recv_at(q + 1):recv_at(q + 1) + sizes(q + 1) - 1) = [(val(q, 4 * rank + i, round), i = 0, sizes(q + 1) - 1)]
        end if
      case ('Alltoallw')
        if (in_place) then
          e(recv_at(q + 1):recv_at(q + 1) + 2:2) = [(val(q, 4 * (size_ - 1 - rank) + 2 * i, round), i = 0, 1)]
        else
          e(recv_at(q + 1):recv_at(q + 1) + 1) = [(val(q, 4 * rank + 2 * i, round), i = 0, 1)]
        end if
      end select
    end do
    before = sum(counts(1:rank))
    select case (what)
    case ('Scatter')
      e(0:b - 1) = [(val(root, rank * b + i, round), i = 0, b - 1)]
    case ('Scatterv')
      e(0:counts(rank + 1) - 1) = [(val(root, at(rank + 1) + i, round), i = 0, counts(rank + 1) - 1)]
    case ('Neighbor_allgather')
      e(0:2 * b - 1) = [(val(left, i, round), i = 0, b - 1), (val(right, i, round), i = 0, b - 1)]
    case ('Neighbor_alltoall')
      e(0:2 * b - 1) = [(val(left, b + i, round), i = 0, b - 1), (val(right, i, round), i = 0, b - 1)]
    case ('Neighbor_allgatherv')
      e(0:1) = [(val(left, i, round), i = 0, 1)]
      e(4:5) = [(val(right, i, round), i = 0, 1)]
    case ('Neighbor_alltoallv')
      e(0:1) = [(val(left, 4 + i, round), i = 0, 1)]
      e(4:5) = [(val(right, i, round), i = 0, 1)]
    case ('Neighbor_alltoallw')
      e(0:1) = [(val(left, 4 + 2 * i, round), i = 0, 1)]
      e(4:5) = [(val(right, 2 * i, round), i = 0, 1)]
    case ('Reduce')
      if (rank == root) e(0:6) = [(total(0, size_ - 1, i, round), i = 0, 6)]
    case ('Allreduce')
      e(0:6) = [(total(0, size_ - 1, i, round), i = 0, 6)]
    case ('Scan')
      e(0:6) = [(total(0, rank, i, round), i = 0, 6)]
    case ('Exscan')
      if (rank > 0) e(0:6) = [(total(0, rank - 1, i, round), i = 0, 6)]
    case ('Reduce_scatter')
      e(0:counts(rank + 1) - 1) = [(total(0, size_ - 1, before + i, round), i = 0, counts(rank + 1) - 1)]
    case ('Reduce_scatter_block')
      e(0:b - 1) = [(total(0, size_ - 1, rank * b + i, round), i = 0, b - 1)]
    case ('Reduce_local')
      e(0:6) = [(val(rank, i, round) + untouched, i = 0, 6)]
    case ('Pack')
      e(0:6) = [(val(rank, i, round), i = 0, 6)]
    end select
  end subroutine

  subroutine begin(what, form, in_place)
    character(*), intent(in) :: what
    integer, intent(in) :: form
    logical, intent(in) :: in_place
    select case (what)
    case ('Gather')
      if (in_place .and. rank == root) then
        if (form == blocking) call MPI_Gather(MPI_IN_PLACE, b, element, r, b, element, root, comm)
        if (form == nonblocking) call MPI_Igather(MPI_IN_PLACE, b, element, r, b, element, root, comm, request)
        if (form == persistent) &
          call MPI_Gather_init(MPI_IN_PLACE, b, element, r, b, element, root, comm, MPI_INFO_NULL, request)
      else
        if (form == blocking) call MPI_Gather(s, b, element, r, b, element, root, comm)
        if (form == nonblocking) call MPI_Igather(s, b, element, r, b, element, root, comm, request)
        if (form == persistent) call MPI_Gather_init(s, b, element, r, b, element, root, comm, MPI_INFO_NULL, request)
      end if
    case ('Gatherv')
      if (in_place .and. rank == root) then
        if (form == blocking) call MPI_Gatherv(MPI_IN_PLACE, counts(rank + 1), element, r, counts, at, element, root, comm)
        if (form == nonblocking) &
          call MPI_Igatherv(MPI_IN_PLACE, counts(rank + 1), element, r, counts, at, element, root, comm, request)
        if (form == persistent) &
          call MPI_Gatherv_init(MPI_IN_PLACE, counts(rank + 1), element, r, counts, at, element, root, comm, &
            MPI_INFO_NULL, request)
      else
        if (form == blocking) call MPI_Gatherv(s, counts(rank + 1), element, r, counts, at, element, root, comm)
        if (form == nonblocking) call MPI_Igatherv(s, counts(rank + 1), element, r, counts, at, element, root, comm, request)
        if (form == persistent) &
          call MPI_Gatherv_init(s, counts(rank + 1), element, r, counts, at, element, root, comm, MPI_INFO_NULL, request)
      end if
    case ('Scatter')
      if (form == blocking) call MPI_Scatter(s, b, element, r, b, element, root, comm)
      if (form == nonblocking) call MPI_Iscatter(s, b, element, r, b, element, root, comm, request)
      if (form == persistent) call MPI_Scatter_init(s, b, element, r, b, element, root, comm, MPI_INFO_NULL, request)
    case ('Scatterv')
      if (form == blocking) call MPI_Scatterv(s, counts, at, element, r, counts(rank + 1), element, root, comm)
      if (form == nonblocking) call MPI_Iscatterv(s, counts, at, element, r, counts(rank + 1), element, root, comm, request)
      if (form == persistent) &
        call MPI_Scatterv_init(s, counts, at, element, r, counts(rank + 1), element, root, comm, MPI_INFO_NULL, request)
    case ('Allgather')
      if (in_place) then
        if (form == blocking) call MPI_Allgather(MPI_IN_PLACE, b, element, r, b, element, comm)
        if (form == nonblocking) call MPI_Iallgather(MPI_IN_PLACE, b, element, r, b, element, comm, request)
        if (form == persistent) call MPI_Allgather_init(MPI_IN_PLACE, b, element, r, b, element, comm, MPI_INFO_NULL, request)
      else
        if (form == blocking) call MPI_Allgather(s, b, element, r, b, element, comm)
        if (form == nonblocking) call MPI_Iallgather(s, b, element, r, b, element, comm, request)
        if (form == persistent) call MPI_Allgather_init(s, b, element, r, b, element, comm, MPI_INFO_NULL, request)
      end if
    case ('Allgatherv')
      if (in_place) then
        if (form == blocking) call MPI_Allgatherv(MPI_IN_PLACE, counts(rank + 1), element, r, counts, at, element, comm)
        if (form == nonblocking) &
          call MPI_Iallgatherv(MPI_IN_PLACE, counts(rank + 1), element, r, counts, at, element, comm, request)
        if (form == persistent) &
          call MPI_Allgatherv_init(MPI_IN_PLACE, counts(rank + 1), element, r, counts, at, element, comm, &
            MPI_INFO_NULL, request)
      else
        if (form == blocking) call MPI_Allgatherv(s, counts(rank + 1), element, r, counts, at, element, comm)
        if (form == nonblocking) call MPI_Iallgatherv(s, counts(rank + 1), element, r, counts, at, element, comm, request)
        if (form == persistent) &
          call MPI_Allgatherv_init(s, counts(rank + 1), element, r, counts, at, element, comm, MPI_INFO_NULL, request)
      end if
    case ('Alltoall')
      if (in_place) then
        if (form == blocking) call MPI_Alltoall(MPI_IN_PLACE, b, element, r, b, element, comm)
        if (form == nonblocking) call MPI_Ialltoall(MPI_IN_PLACE, b, element, r, b, element, comm, request)
        if (form == persistent) call MPI_Alltoall_init(MPI_IN_PLACE, b, element, r, b, element, comm, MPI_INFO_NULL, request)
      else
        if (form == blocking) call MPI_Alltoall(s, b, element, r, b, element, comm)
        if (form == nonblocking) call MPI_Ialltoall(s, b, element, r, b, element, comm, request)
        if (form == persistent) call MPI_Alltoall_init(s, b, element, r, b, element, comm, MPI_INFO_NULL, request)
      end if
    case ('Alltoallv')
      if (in_place) then
        if (form == blocking) call MPI_Alltoallv(MPI_IN_PLACE, sizes, send_at, element, r, sizes, recv_at, element, comm)
        if (form == nonblocking) &
          call MPI_Ialltoallv(MPI_IN_PLACE, sizes, send_at, element, r, sizes, recv_at, element, comm, request)
        if (form == persistent) &
          call MPI_Alltoallv_init(MPI_IN_PLACE, sizes, send_at, element, r, sizes, recv_at, element, comm, &
            MPI_INFO_NULL, request)
      else
        if (form == blocking) call MPI_Alltoallv(s, sizes, send_at, element, r, sizes, recv_at, element, comm)
        if (form == nonblocking) call MPI_Ialltoallv(s, sizes, send_at, element, r, sizes, recv_at, element, comm, request)
        if (form == persistent) &
          call MPI_Alltoallv_init(s, sizes, send_at, element, r, sizes, recv_at, element, comm, MPI_INFO_NULL, request)
      end if
    case ('Alltoallw')
      if (in_place) then
        if (form == blocking) &
          call MPI_Alltoallw(MPI_IN_PLACE, ones, send_bytes, spread_out, r, ones, recv_bytes, spread_out, comm)
        if (form == nonblocking) &
          call MPI_Ialltoallw(MPI_IN_PLACE, ones, send_bytes, spread_out, r, ones, recv_bytes, spread_out, comm, request)
        if (form == persistent) &
          call MPI_Alltoallw_init(MPI_IN_PLACE, ones, send_bytes, spread_out, r, ones, recv_bytes, spread_out, comm, &
            MPI_INFO_NULL, request)
      else
        if (form == blocking) call MPI_Alltoallw(s, ones, send_bytes, spread_out, r, twos, recv_bytes, doubles, comm)
        if (form == nonblocking) &
          call MPI_Ialltoallw(s, ones, send_bytes, spread_out, r, twos, recv_bytes, doubles, comm, request)
        if (form == persistent) &
          call MPI_Alltoallw_init(s, ones, send_bytes, spread_out, r, twos, recv_bytes, doubles, comm, MPI_INFO_NULL, request)
      end if
    case ('Neighbor_allgather')
      if (form == blocking) call MPI_Neighbor_allgather(s, b, element, r, b, element, ring)
      if (form == nonblocking) call MPI_Ineighbor_allgather(s, b, element, r, b, element, ring, request)
      if (form == persistent) call MPI_Neighbor_allgather_init(s, b, element, r, b, element, ring, MPI_INFO_NULL, request)
    case ('Neighbor_allgatherv')
      if (form == blocking) call MPI_Neighbor_allgatherv(s, 2, element, r, twos, apart, element, ring)
      if (form == nonblocking) call MPI_Ineighbor_allgatherv(s, 2, element, r, twos, apart, element, ring, request)
      if (form == persistent) &
        call MPI_Neighbor_allgatherv_init(s, 2, element, r, twos, apart, element, ring, MPI_INFO_NULL, request)
    case ('Neighbor_alltoall')
      if (form == blocking) call MPI_Neighbor_alltoall(s, b, element, r, b, element, ring)
      if (form == nonblocking) call MPI_Ineighbor_alltoall(s, b, element, r, b, element, ring, request)
      if (form == persistent) call MPI_Neighbor_alltoall_init(s, b, element, r, b, element, ring, MPI_INFO_NULL, request)
    case ('Neighbor_alltoallv')
      if (form == blocking) call MPI_Neighbor_alltoallv(s, twos, apart, element, r, twos, apart, element, ring)
      if (form == nonblocking) call MPI_Ineighbor_alltoallv(s, twos, apart, element, r, twos, apart, element, ring, request)
      if (form == persistent) &
        call MPI_Neighbor_alltoallv_init(s, twos, apart, element, r, twos, apart, element, ring, MPI_INFO_NULL, request)
    case ('Neighbor_alltoallw')
      if (form == blocking) call MPI_Neighbor_alltoallw(s, ones, far, spread_out, r, twos, far, doubles, ring)
      if (form == nonblocking) call MPI_Ineighbor_alltoallw(s, ones, far, spread_out, r, twos, far, doubles, ring, request)
      if (form == persistent) &
        call MPI_Neighbor_alltoallw_init(s, ones, far, spread_out, r, twos, far, doubles, ring, MPI_INFO_NULL, request)
    case ('Reduce')
      if (in_place .and. rank == root) then
        if (form == blocking) call MPI_Reduce(MPI_IN_PLACE, r, 7, element, MPI_SUM, root, comm)
        if (form == nonblocking) call MPI_Ireduce(MPI_IN_PLACE, r, 7, element, MPI_SUM, root, comm, request)
        if (form == persistent) call MPI_Reduce_init(MPI_IN_PLACE, r, 7, element, MPI_SUM, root, comm, MPI_INFO_NULL, request)
      else
        if (form == blocking) call MPI_Reduce(s, r, 7, element, MPI_SUM, root, comm)
        if (form == nonblocking) call MPI_Ireduce(s, r, 7, element, MPI_SUM, root, comm, request)
        if (form == persistent) call MPI_Reduce_init(s, r, 7, element, MPI_SUM, root, comm, MPI_INFO_NULL, request)
      end if
    case ('Allreduce')
      if (in_place) then
        if (form == blocking) call MPI_Allreduce(MPI_IN_PLACE, r, 7, element, MPI_SUM, comm)
        if (form == nonblocking) call MPI_Iallreduce(MPI_IN_PLACE, r, 7, element, MPI_SUM, comm, request)
        if (form == persistent) call MPI_Allreduce_init(MPI_IN_PLACE, r, 7, element, MPI_SUM, comm, MPI_INFO_NULL, request)
      else
        if (form == blocking) call MPI_Allreduce(s, r, 7, element, MPI_SUM, comm)
        if (form == nonblocking) call MPI_Iallreduce(s, r, 7, element, MPI_SUM, comm, request)
        if (form == persistent) call MPI_Allreduce_init(s, r, 7, element, MPI_SUM, comm, MPI_INFO_NULL, request)
      end if
    case ('Scan')
      if (in_place) then
        if (form == blocking) call MPI_Scan(MPI_IN_PLACE, r, 7, element, MPI_SUM, comm)
        if (form == nonblocking) call MPI_Iscan(MPI_IN_PLACE, r, 7, element, MPI_SUM, comm, request)
        if (form == persistent) call MPI_Scan_init(MPI_IN_PLACE, r, 7, element, MPI_SUM, comm, MPI_INFO_NULL, request)
      else
        if (form == blocking) call MPI_Scan(s, r, 7, element, MPI_SUM, comm)
        if (form == nonblocking) call MPI_Iscan(s, r, 7, element, MPI_SUM, comm, request)
        if (form == persistent) call MPI_Scan_init(s, r, 7, element, MPI_SUM, comm, MPI_INFO_NULL, request)
      end if
    case ('Exscan')
      if (in_place) then
        if (form == blocking) call MPI_Exscan(MPI_IN_PLACE, r, 7, element, MPI_SUM, comm)
        if (form == nonblocking) call MPI_Iexscan(MPI_IN_PLACE, r, 7, element, MPI_SUM, comm, request)
        if (form == persistent) call MPI_Exscan_init(MPI_IN_PLACE, r, 7, element, MPI_SUM, comm, MPI_INFO_NULL, request)
      else
        if (form == blocking) call MPI_Exscan(s, r, 7, element, MPI_SUM, comm)
        if (form == nonblocking) call MPI_Iexscan(s, r, 7, element, MPI_SUM, comm, request)
        if (form == persistent) call MPI_Exscan_init(s, r, 7, element, MPI_SUM, comm, MPI_INFO_NULL, request)
      end if
    case ('Reduce_scatter')
      if (in_place) then
        if (form == blocking) call MPI_Reduce_scatter(MPI_IN_PLACE, r, counts, element, MPI_SUM, comm)
        if (form == nonblocking) call MPI_Ireduce_scatter(MPI_IN_PLACE, r, counts, element, MPI_SUM, comm, request)
        if (form == persistent) &
          call MPI_Reduce_scatter_init(MPI_IN_PLACE, r, counts, element, MPI_SUM, comm, MPI_INFO_NULL, request)
      else
        if (form == blocking) call MPI_Reduce_scatter(s, r, counts, element, MPI_SUM, comm)
        if (form == nonblocking) call MPI_Ireduce_scatter(s, r, counts, element, MPI_SUM, comm, request)
        if (form == persistent) call MPI_Reduce_scatter_init(s, r, counts, element, MPI_SUM, comm, MPI_INFO_NULL, request)
      end if
    case ('Reduce_scatter_block')
      if (in_place) then
        if (form == blocking) call MPI_Reduce_scatter_block(MPI_IN_PLACE, r, b, element, MPI_SUM, comm)
        if (form == nonblocking) call MPI_Ireduce_scatter_block(MPI_IN_PLACE, r, b, element, MPI_SUM, comm, request)
        if (form == persistent) &
          call MPI_Reduce_scatter_block_init(MPI_IN_PLACE, r, b, element, MPI_SUM, comm, MPI_INFO_NULL, request)
      else
        if (form == blocking) call MPI_Reduce_scatter_block(s, r, b, element, MPI_SUM, comm)
        if (form == nonblocking) call MPI_Ireduce_scatter_block(s, r, b, element, MPI_SUM, comm, request)
        if (form == persistent) call MPI_Reduce_scatter_block_init(s, r, b, element, MPI_SUM, comm, MPI_INFO_NULL, request)
      end if
    case ('Reduce_local')
      call MPI_Reduce_local(s, r, 7, element, MPI_SUM)
    case ('Pack')
      call pack_and_unpack()
    end select
  end subroutine

  subroutine pack_and_unpack()
    character, target :: store(200)
    character, pointer :: bytes(:)
    integer :: position
    bytes => store(1:200:2) ! the packed data is in a section, too
    position = 0
    call MPI_Pack(s, 7, element, bytes, 100, position, comm)
    position = 0
    call MPI_Unpack(bytes, 100, position, r, 7, element, comm)
  end subroutine

  ! Elements of other sizes, and those that are parts of the type that is reduced.
  subroutine test_types()
    integer(1) :: small(40), small_sum(40)
    complex(dp) :: z(4, 4), product(4, 4)
    integer :: pairs(24), best(24), i
    small = 1
    small_sum = 0
    call MPI_Allreduce(small(1:40:4), small_sum(2:40:4), 10, MPI_INTEGER1, MPI_SUM, comm)
    call agree(count(small_sum == size_), 10, 'integer(1)')
    call agree(count(small_sum(2:40:4) == size_), 10, 'integer(1), where it belongs')
    z = (0, 1)
    product = 0
    call MPI_Allreduce(z(2, :), product(:, 3), 4, MPI_DOUBLE_COMPLEX, MPI_PROD, comm)
    call agree(count(product(:, 3) == (0, 1)**size_), 4, 'complex, a row')
    z = 0
    call MPI_Allreduce(product(:, 3), z(2, :), 4, MPI_DOUBLE_COMPLEX, MPI_SUM, comm)
    call agree(count(z(2, :) == size_ * (0, 1)**size_), 4, 'complex, into a row')
    call agree(count(z == 0), 12, 'complex, other rows')
    pairs = rank
    best = -1
    call MPI_Allreduce(pairs(1:24:2), best(2:24:2), 6, MPI_2INTEGER, MPI_MAXLOC, comm)
    call agree(count(best(2:24:2) == size_ - 1), 12, 'pairs of elements')
    call agree(count(best(1:24:2) == -1), 12, 'between pairs of elements')
    pairs = [(100 * rank + i, i = 1, 24)]
    best = -1
    call MPI_Allgather(pairs(1:24:2), 2, MPI_INTEGER, best(1:24:2), 2, MPI_INTEGER, comm)
    do i = 0, size_ - 1
      call agree(best(4 * i + 1), 100 * i + 1, 'gathered integers')
      call agree(best(4 * i + 3), 100 * i + 3, 'gathered integers')
    end do
    call agree(count(best == -1), 24 - 2 * size_, 'between gathered integers')
    call MPI_Bcast(pairs(1:24:3), 8, MPI_INTEGER, root, comm)
    call agree(pairs(22), 100 * root + 22, 'broadcast integers')
    call agree(pairs(23), 100 * rank + 23, 'between broadcast integers')
    call test_large()
  end subroutine

  ! Counts of a large kind.
  subroutine test_large()
    integer :: x(30), y(30), i
    integer(MPI_COUNT_KIND) :: n(size_)
    integer(MPI_ADDRESS_KIND) :: displs(size_)
    x = rank
    y = -1
    n = 1
    displs = [(2 * i, i = size_ - 1, 0, -1)]
    call MPI_Allgatherv(x(1:30:3), 1_MPI_COUNT_KIND, MPI_INTEGER, y(1:30:3), n, displs, MPI_INTEGER, comm)
    do i = 0, size_ - 1
      call agree(y(6 * (size_ - 1 - i) + 1), i, 'a large count')
    end do
    call agree(count(y == -1), 30 - size_, 'between blocks of a large count')
  end subroutine

  ! Between two groups: process 0, and all the others.
  subroutine test_groups()
    type(MPI_Comm) :: mine, inter
    integer :: side, others, of_root, x(60), y(60), i
    side = merge(0, 1, rank == 0)
    call MPI_Comm_split(comm, side, rank, mine)
    call MPI_Intercomm_create(mine, 0, comm, 1 - side, 7, inter)
    call MPI_Comm_remote_size(inter, others)
    of_root = merge(MPI_ROOT, 0, side == 0)
    x = [(100 * rank + i, i = 1, 60)]
    y = -1
    call MPI_Gather(x(1:60:3), 2, MPI_INTEGER, y(2:60:3), 2, MPI_INTEGER, of_root, inter)
    if (side == 0) call check_others(y, 4, 'gathered between groups')
    call agree(count(y == -1), 60 - merge(2 * others, 0, side == 0), 'between what is gathered between groups')
    y = -1
    call MPI_Allgather(x(1:60:3), 2, MPI_INTEGER, y(2:60:3), 2, MPI_INTEGER, inter)
    call check_others(y, 4, 'gathered by both groups')
    y = -1
    x(1:60:3) = [(100 * rank + mod(i, 2) + 1, i = 0, 19)]
    call MPI_Alltoallw(x(1:60:3), [(2, i = 1, others)], [(8 * i, i = 0, others - 1)], [(MPI_INTEGER, i = 1, others)], y(2:60:3), &
                       [(2, i = 1, others)], [(8 * i, i = 0, others - 1)], [(MPI_INTEGER, i = 1, others)], inter)
    call check_others(y, 2, 'exchanged between groups')
    y = -1
    call MPI_Reduce(x(1:60:3), y(2:60:3), 2, MPI_INTEGER, MPI_SUM, of_root, inter)
    if (side == 0) call agree(y(2), sum([(100 * i + 1, i = 1, others)]), 'reduced between groups')
    call agree(count(y == -1), 60 - merge(2, 0, side == 0), 'between what is reduced between groups')
    call MPI_Comm_free(inter)
    call MPI_Comm_free(mine)
  end subroutine

  ! Two elements of each process of the other group.
  subroutine check_others(y, second, what)
    integer, intent(in) :: y(60), second
    character(*), intent(in) :: what
    integer :: first, last, q
    first = merge(1, 0, rank == 0)
    last = merge(size_ - 1, 0, rank == 0)
    do q = first, last
      call agree(y(2 + 6 * (q - first)), 100 * q + 1, what)
      call agree(y(5 + 6 * (q - first)), 100 * q + second, what)
    end do
  end subroutine

  subroutine agree(found, expected, what)
    integer, intent(in) :: found, expected
    character(*), intent(in) :: what
    if (found == expected) return
    failures = failures + 1
    print *, 'rank', rank, ': ', what, ':', found, ' instead of', expected
  end subroutine

  ! Sections that are too small, and arguments that are wrong: errors of the communicator.
  subroutine test_errors()
    integer :: x(12), y(12), ierr, class, position
    type(MPI_Request) :: partitions
    x = rank
    y = -1
    call MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN)
    call MPI_Allreduce(x(1:12:2), y(1:12:2), 7, MPI_INTEGER, MPI_SUM, comm, ierr)
    call MPI_Error_class(ierr, class)
    call agree(class, MPI_ERR_BUFFER, 'a section that is too small')
    position = 0
    call MPI_Pack(x(1:12:2), -1, MPI_INTEGER, y(1:12:2), 24, position, comm, ierr)
    call MPI_Error_class(ierr, class)
    call agree(class, MPI_ERR_COUNT, 'a negative count')
    call MPI_Allreduce(x(1:12:2), y(1:12:2), 1, MPI_DATATYPE_NULL, MPI_SUM, comm, ierr)
    call MPI_Error_class(ierr, class)
    call agree(class, MPI_ERR_TYPE, 'a null type')
    call MPI_Psend_init(x(1:12:2), 2, 3_MPI_COUNT_KIND, MPI_INTEGER, 0, 1, comm, MPI_INFO_NULL, partitions, ierr)
    call MPI_Error_class(ierr, class)
    call agree(class, MPI_ERR_BUFFER, 'partitions of a section')
    call agree(count(y == -1), 12, 'calls that fail')
  end subroutine
end program
