"""Seeded text whose latent structure is drawn from known distributions."""
