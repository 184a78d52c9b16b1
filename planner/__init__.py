"""Slotwise: how many people a machine can serve with a language model, why, and with which configuration."""

VERSION = "0.1.0"
