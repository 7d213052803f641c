"""Entity grid."""
