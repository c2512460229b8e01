async ([path, cells]) => {
    const { shell } = window.jupyterapp;
    const panel = [...shell.widgets('main')].find(widget => widget.context?.path === path && widget.content?.model);
    for (const widget of [...shell.widgets('main')]) if (widget !== panel) widget.close();
    shell.activateById(panel.id);
    shell.expandLeft();
    shell.collapseRight();
    delete navigator.clipboard.writeText;
    localStorage.removeItem('dra-lab:dock');
    const notebook = panel.content, shared = notebook.model.sharedModel;
    shared.transact(() => {
        shared.deleteCellRange(0, shared.cells.length);
        shared.insertCells(0, cells);
    });
    notebook.activeCellIndex = 0;
    notebook.mode = 'command';
    await new Promise(requestAnimationFrame);
}
