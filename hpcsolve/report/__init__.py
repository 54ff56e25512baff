"""`hpcsolve report`: one HTML page about results, with pictures and numbers, that needs no network and no server.

page.py      the whole page: a summary of several results, then a section for each
section.py   the section of one result
words.py     problem, answer and check in sentences
facts.py     the numbers of a result that tables show
pictures.py  which pictures a result has, how large they are, and what they show in words
markup.py    elements of HTML, whose texts are always escaped
page.html    the frame of the page
style.css    its style: light, dark, narrow screens, print
"""
