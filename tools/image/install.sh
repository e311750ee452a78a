#!/bin/sh
# Install evenkey, Spark and Java into the image: install.sh SOURCE, a folder with the package and requirements.lock.
set -eu
source=$1
apt-get update
apt-get install --yes --no-install-recommends openjdk-17-jre-headless procps
rm -rf /var/lib/apt/lists/*
pip install --no-cache-dir --require-hashes --requirement "$source/requirements.lock"
pip install --no-cache-dir --no-deps "$source"
