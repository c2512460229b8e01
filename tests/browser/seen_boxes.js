canvas => [...canvas.querySelectorAll('.react-flow__node-request')].filter(box => {
    const [at, room] = [box.getBoundingClientRect(), canvas.getBoundingClientRect()];
    const isInside = at.left >= room.left && at.right <= room.right && at.top >= room.top && at.bottom <= room.bottom;
    return isInside && box.checkVisibility({visibilityProperty: true, opacityProperty: true}) && at.width > 50;
}).length
