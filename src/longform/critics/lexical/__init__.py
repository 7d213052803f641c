"""Lexical."""
