# Python: packages that were fetched before.
read ~/.cache/pip
read ~/.cache/uv
read ~/.local/share/virtualenv
env PYTHONPATH
