([name, data]) => {
    const bytes = Uint8Array.from(atob(data), letter => letter.charCodeAt(0));
    const files = new DataTransfer();
    files.items.add(new File([bytes], name));
    const target = document.querySelector('.dra-hardware');
    for (const type of ['dragenter', 'dragover', 'drop'])
        target.dispatchEvent(new DragEvent(type, {dataTransfer: files, bubbles: true, cancelable: true}));
}
