"""Waits for an event that never comes."""
import threading

threading.Event().wait()
