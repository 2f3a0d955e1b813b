"""Benchmarks: registered data, methods and protocols, each run by ``fermiclass benchmark NAME``.

``problem`` defines a benchmark, ``registry`` lists all benchmarks, and ``methods`` makes the methods that they compare.
``runner`` plans ``blocks``, lets ``executors`` run them, and keeps ``records``. ``summary`` averages the records, and
``tables`` prints the result.
"""
