"""The table of event sequences, row by row."""

from loop_doubles import *
