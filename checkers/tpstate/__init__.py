"""The TP-state interpreter: runs constructors and forwards over abstract values."""
