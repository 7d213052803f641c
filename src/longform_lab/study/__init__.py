"""The human study: items, a store that forgets no answer, and a local web page.

The study is that of deng2022 (appendix H).
"""
