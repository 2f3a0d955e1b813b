"""Estimators with the interface of scikit-learn, their fitting and temperature."""
