(() => {
    // The step of grey of a colour on white, from 0 for black; a step has `width` of the 256 levels.
    const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
    return (colour, width) => {
        canvas.fillStyle = '#fff';
        canvas.fillRect(0, 0, 1, 1);
        canvas.fillStyle = colour;
        canvas.fillRect(0, 0, 1, 1);
        const [red, green, blue] = canvas.getImageData(0, 0, 1, 1).data;
        return Math.round((0.21 * red + 0.72 * green + 0.07 * blue) / width);
    };
})()
