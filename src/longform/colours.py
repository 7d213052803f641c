"""Colours of figures and of marked text, which most readers tell apart (Okabe and Ito 2008)."""

# Of points, lines and areas in figures.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
# Of words and of lines below them: ours are ochre in place of orange, and what follows sky blue.
TEXT_COLOURS = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#8C6D00",
    "#56B4E9",
    "#7A3E9D",
    "#B22222",
    "#555555",
    "#1B5E20",
)
GREY = TEXT_COLOURS[8]
