"""Whether what threads race for steers a program: its addresses, branches and loops are the schedule's then."""

import ast

BRANCHES = (ast.If, ast.IfExp, ast.While)


def steered(body):
    """Whether a fragment's text has an index, a condition or a bound made of what it reads from arrays it writes.

    A name that ever takes such a value counts everywhere, so that the answer errs towards yes.
    """
    tree = ast.parse(body)
    written = {
        node.value.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name)
    }
    written |= {
        node.args[0].id
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and "atomic" in ast.unparse(node.func) and isinstance(node.args[0], ast.Name)
    }
    racy = set()  # names whose value is the schedule's

    def reads(node):
        return any(isinstance(part, ast.Name) and part.id in racy | written for part in ast.walk(node))

    while True:
        before = len(racy)
        for node in ast.walk(tree):
            match node:
                case ast.Assign(targets=targets, value=value) if reads(value):
                    names = [part for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)]
                    racy |= {name.id for name in names if isinstance(name.ctx, ast.Store)}
                case ast.AugAssign(target=ast.Name(id=name), value=value) if reads(value):
                    racy.add(name)
        if len(racy) == before:
            break
    indices = [node.slice for node in ast.walk(tree) if isinstance(node, ast.Subscript)]
    tests = [node.test for node in ast.walk(tree) if isinstance(node, BRANCHES)]
    bounds = [node.iter for node in ast.walk(tree) if isinstance(node, ast.For)]
    shorts = [node for node in ast.walk(tree) if isinstance(node, ast.BoolOp)]
    return any(reads(node) for node in (*indices, *tests, *bounds, *shorts))
