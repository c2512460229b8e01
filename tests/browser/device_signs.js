() => {
    const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
    const grey = colour => {
        canvas.fillStyle = '#fff';
        canvas.fillRect(0, 0, 1, 1);
        canvas.fillStyle = colour;
        canvas.fillRect(0, 0, 1, 1);
        const [red, green, blue] = canvas.getImageData(0, 0, 1, 1).data;
        return Math.round((0.21 * red + 0.72 * green + 0.07 * blue) / 80);
    };
    const sign = node => {
        const {fill, strokeDasharray, strokeWidth} = getComputedStyle(node);
        const paint = fill.startsWith('url') ? fill.replace(/^.*-/, '') : grey(fill);
        return [node.tagName, strokeDasharray, Math.round(parseFloat(strokeWidth)), paint];
    };
    return [...document.querySelectorAll('[data-state]')].map(item => {
        const names = item.classList;
        const state = names.contains('dra-hw-chosen') ? 'allocated'
            : names.contains('dra-hw-unhealthy') ? 'unhealthy' : item.dataset.state;
        const lines = [...item.querySelectorAll('.dra-hw-shape, .dra-hw-pattern, .dra-hw-sick, .dra-hw-bar-used')];
        const letters = [...item.querySelectorAll('.dra-hw-letter')].map(node => node.textContent);
        return [state, JSON.stringify([lines.map(sign), letters])];
    });
}
