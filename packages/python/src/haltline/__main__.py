"""`python -m haltline` is the command line."""

import os
import sys

from ._connection import find_program

os.execv(find_program(), ["haltline", *sys.argv[1:]])
