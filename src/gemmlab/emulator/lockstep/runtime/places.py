"""Places in the numbers that generated code and what it calls share."""

#: of E: this epoch; the first since the block's last barrier; the block's first; barriers so far in it; its number;
#: why to stop (STOPPED or ENDLESS); rounds of loops so far in the block; the address of what is known of races; the
#: number of the log that meetings of lanes are written to, 0 for none
ENOW, EFLOOR, ESTART, EBARRIERS, EBLOCK, ESTOP, EROUNDS, ERACES, ELOG = range(9)
EPOCH_NUMBERS = 16
STOPPED, ENDLESS = 1, 2

#: flags of an access: A is kept; S is kept; owners are kept; values are stored; the array is global
ATOMICS, WARPS, OWNED, VALUED, GLOBAL = (1 << bit for bit in range(5))

#: of a shadow word, see shadow.py
EPOCH, OTHER, SITE, FIRST = 32, 31, 20, 10
THREAD_MASK = 1023
SITE_MASK = 2047

# The record of one access: what is fixed for a launch, then what changes, then addresses of arrays.
DIMS, EXTENT, STRIDE, ORIGIN = 0, 1, 4, 7
BYTE0, SHIFT, SPACE, AT_SITE, NT, OWN, SPAN, FLAGS = range(8, 16)
LOW, HIGH, BASE, PIECES, SPLITS = 16, 19, 22, 23, 24
LANES, KEPT, EACH, INDEX, MEMO, MEMO_COUNTS, ROOM = 25, 26, 27, 28, 31, 32, 33
EPOCHS, FAULTS, WRITTEN, READ, ATOMIC, MET, OWNERS = range(34, 41)
MEMORY, VALUES, LEFT, HOW, SHARED, KIND = range(41, 47)
WIDE, SKIP, WARPS_SERVED, FOUND, ODDITY = (
    80,
    81,
    82,
    83,
    84,
)  #: of loads merged into wide ones: width as a shift; not counted; requests
#: FOUND: the offset behind which threads find their elements; ODDITY: some were out of range so far
GROUP, LOGGED = 85, 86  #: the number of the array's shadow, from 1; of the log that accesses are written to, 0 for none
TABLE = 48  #: pieces and conflicts by phase, 32 of them
RECORD = 96  #: numbers of a record

IN_GLOBAL, IN_SHARED, IN_LOCAL = range(3)  #: of SPACE
LOADED, STORED, CHANGED = range(3)  #: of KIND; changed by an atomic
SPLIT = 32  #: pieces below that bit, conflicts above

FAST, SLOW, ODD = 0, 1, 3  #: how an access was reached: by its table; one by one; the same, some out of range

# What is known of a shared array as a whole: its size; the epoch of its last write; elements that this block has not
# written, and the block that is said of, by its first epoch; reads of this epoch that are not yet marked, then those.
SIZE, LAST_WRITE, UNWRITTEN, OF_BLOCK, PENDING_EPOCH, PENDING, READS = range(7)
MOST_PENDING = 500
SHARED_RECORD = READS + 3 * MOST_PENDING

# What a worker knows of races: how many elements are in one; how many events found no room for theirs; the address of a
# byte by block, set where there is a race; then the elements as GROUP << ELEMENT_BITS | element, hashed.
RACING, UNKEPT, FLAGGED, KEYS = range(4)
KEY_SLOTS, MOST_KEYS, ELEMENT_BITS = 1 << 14, 1 << 13, 40
