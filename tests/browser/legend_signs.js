signs => {
    const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
    const grey = colour => {
        canvas.fillStyle = '#fff';
        canvas.fillRect(0, 0, 1, 1);
        canvas.fillStyle = colour;
        canvas.fillRect(0, 0, 1, 1);
        const [red, green, blue] = canvas.getImageData(0, 0, 1, 1).data;
        return Math.round((0.21 * red + 0.72 * green + 0.07 * blue) / 64);
    };
    return signs.map(sign => JSON.stringify([sign, ...sign.querySelectorAll('*')].map(node => {
        const style = getComputedStyle(node);
        const shape = ['width', 'height', 'rx'].map(name => node.getAttribute(name));
        if (node.closest('svg'))
            return [node.tagName, shape, node.textContent, style.strokeDasharray, style.strokeWidth,
                style.fill.startsWith('url') ? style.fill.replace(/^.*-/, '') : grey(style.fill)];
        return [style.borderTopStyle, style.borderTopWidth, style.backgroundImage, grey(style.backgroundColor)];
    })));
}
