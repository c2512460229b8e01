() => {
    const sign = node => {
        const {fill, strokeDasharray, strokeWidth} = getComputedStyle(node);
        const paint = fill.startsWith('url') ? fill.replace(/^.*-/, '') : grey(fill, 80);
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
