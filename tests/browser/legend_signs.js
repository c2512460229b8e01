signs => {
    return signs.map(sign => JSON.stringify([sign, ...sign.querySelectorAll('*')].map(node => {
        const style = getComputedStyle(node);
        const shape = ['width', 'height', 'rx'].map(name => node.getAttribute(name));
        if (node.closest('svg'))
            return [node.tagName, shape, node.textContent, style.strokeDasharray, style.strokeWidth,
                style.fill.startsWith('url') ? style.fill.replace(/^.*-/, '') : grey(style.fill, 64)];
        return [style.borderTopStyle, style.borderTopWidth, style.backgroundImage, grey(style.backgroundColor, 64)];
    })));
}
