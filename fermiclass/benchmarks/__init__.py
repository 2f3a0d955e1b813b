"""Benchmarks: registered data, methods and protocols, each run by ``fermiclass benchmark NAME``.

``problem`` says what a benchmark is, ``registry`` which there are, and ``methods`` what they compare. ``runner`` plans
``blocks``, has ``executors`` run them, and keeps ``records``, of which ``summary`` and ``tables`` make figures.
"""
