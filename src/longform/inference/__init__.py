"""Any text and a model become one row of arrays per unit: the last place where torch is imported."""
