"""`hpcsolve report`: one HTML page about results, with pictures and numbers, that needs no network and no server.

page.py      the whole page: a summary of several results, then a section for each
seeds.py     runs of one job that differ in the seed, and their overview
stops.py     the stops of a tour as a table
words.py     problem and answer in sentences, and the numbers that tables show
pictures.py  which pictures a result has, how large they are, and what they show in words
elements.py  HTML elements, and escaping
page.html    the frame of the page
style.css    its style: light, dark, narrow screens, print
"""
