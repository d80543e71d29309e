"""Tests. Those in test_plugin.py need Neutron's own test bed (PyPI's neutron has it)."""
