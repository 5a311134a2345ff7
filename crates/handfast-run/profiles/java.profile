# Java: packages that were fetched before.
read ~/.m2/repository
read ~/.gradle/caches
env JAVA_HOME
