def write(results, docs):
    pass
