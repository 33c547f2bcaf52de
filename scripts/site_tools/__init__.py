"""What `scripts/site.py` is made of: the model of the site, its checks, its generated files, its build."""
