"""States of the synthetic language, read by its oracle posterior (deng2022 section 3)."""
