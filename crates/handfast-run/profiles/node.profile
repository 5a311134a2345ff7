# Node: packages that were fetched before.
read ~/.npm/_cacache
read ~/.cache/pnpm
read ~/.cache/yarn
env NODE_OPTIONS
