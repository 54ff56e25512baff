"""What the study of variants reports of itself: mean and greatest speed-ups over its instances.

"The study" is "Accelerating Computation of Steiner Trees on GPUs" (Muniasamy, Nasre, Narayanaswamy, 2022). Its times on
single instances are not known here.
"""

from __future__ import annotations

SPEED_UPS = (
    ("its CPU program (SSSP-halt)", "OGDF's KMB", 4, 15),
    ("its GPU program, Tesla P100", "its CPU program", 4, 27),
    ("its GPU program, Tesla P100", "OGDF's KMB", 20, 62),
)
"""Program, the program that it is compared with, mean and greatest speed-up."""
INSTANCES = {
    "pace3_137": "G309", "pace3_163": "G302", "pace3_181": "G103", "pace3_183": "G205", "pace3_185": "I062",
    "pace3_187": "I064", "pace3_189": "G305", "pace3_191": "I027", "pace3_193": "fnl4461fst", "pace3_195": "I083",
    "pace3_197": "G307", "alue7080": "alue7080", "lin37": "lin37",
}
"""Its instances that are published (PACE 2018, track C, and SteinLib), with their names in SteinLib or of Vienna.

It has one more, a network of SNAP's Deezer users with 3000 terminals."""
