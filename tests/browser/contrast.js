([selector]) => {
  const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  const parse = text => {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = '#000'; canvas.fillStyle = text; canvas.fillRect(0, 0, 1, 1);
    const d = canvas.getImageData(0, 0, 1, 1).data;
    return [d[0], d[1], d[2], d[3] / 255];
  };
  const over = (top, under) => [0, 1, 2].map(i => top[i] * top[3] + under[i] * (1 - top[3])).concat(1);
  const light = c => { const f = v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    return 0.2126 * f(c[0]) + 0.7152 * f(c[1]) + 0.0722 * f(c[2]); };
  const ratio = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p);
    return (x + 0.05) / (y + 0.05); };
  const opacity = node => { let o = 1;
    for (let n = node; n && n.nodeType === 1; n = n.parentElement) o *= Number(getComputedStyle(n).opacity);
    return o; };
  const page = () => document.body.dataset.jpThemeLight === 'false' ? [17, 17, 17, 1] : [255, 255, 255, 1];

  // The colour of what is painted behind an HTML element; the nearest opaque background ends the walk.
  const behindHtml = node => {
    const layers = [];
    for (let n = node; n; n = n.parentElement) {
      const c = parse(getComputedStyle(n).backgroundColor);
      if (c[3] > 0) layers.push(c);
      if (c[3] === 1) break;
    }
    return layers.reverse().reduce((under, top) => over(top, under), page());
  };
  const colours = (shape, value) => {
    const ref = /url\(["']?#([^"')]+)/.exec(value);
    if (!ref) return [parse(value)];
    const def = shape.ownerSVGElement.querySelector('#' + CSS.escape(ref[1])) ?? document.getElementById(ref[1]);
    if (!def) return [];
    const found = [];
    for (const n of def.querySelectorAll('*')) {
      const s = getComputedStyle(n);
      for (const v of [n.tagName === 'stop' ? s.stopColor : s.fill, s.stroke])
        if (v && v !== 'none' && !v.startsWith('url')) found.push(parse(v));
    }
    return found;
  };
  const behindSvg = text => {
    const svg = text.ownerSVGElement; let root = svg; while (root.ownerSVGElement) root = root.ownerSVGElement;
    const box = text.getBoundingClientRect(), x = box.x + box.width / 2, y = box.y + box.height / 2;
    let layers = [behindHtml(root)];
    for (const shape of root.querySelectorAll('rect, circle, ellipse, polygon, path')) {
      if (shape.closest('defs, pattern, clipPath, mask, symbol')) continue;
      if (!(shape.compareDocumentPosition(text) & Node.DOCUMENT_POSITION_FOLLOWING)) continue;
      const style = getComputedStyle(shape);
      if (style.fill === 'none' || style.visibility === 'hidden' || style.display === 'none') continue;
      const inverse = shape.getScreenCTM()?.inverse();
      if (!inverse || !shape.isPointInFill(new DOMPoint(x, y).matrixTransform(inverse))) continue;
      const strength = Number(style.fillOpacity) * opacity(shape);
      const tops = colours(shape, style.fill).map(c => [c[0], c[1], c[2], c[3] * strength]);
      const plain = !style.fill.startsWith('url');
      const mixed = layers.flatMap(under => tops.map(top => over(top, under)));
      layers = plain ? mixed : layers.concat(mixed);
      layers = [...new Map(layers.map(c => [c.map(Math.round).join(), c])).values()];
    }
    return layers;
  };

  const rows = [];
  for (const root of document.querySelectorAll(selector)) {
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    for (let n = walker.nextNode(); n; n = walker.nextNode()) {
      const parent = n.parentElement, text = n.textContent.trim();
      if (!text || parent.closest('style, script, title, desc, option, defs')) continue;
      const style = getComputedStyle(parent), box = parent.getBoundingClientRect();
      if (style.visibility !== 'visible' || box.width < 2 || box.height < 2 || opacity(parent) === 0) continue;
      if (parent.closest('[disabled], [aria-disabled="true"]')) continue;
      const isSvg = parent instanceof SVGElement && parent.ownerSVGElement && !parent.closest('foreignObject');
      const ink = parse(isSvg ? style.fill : style.color);
      ink[3] *= opacity(parent) * (isSvg ? Number(style.fillOpacity) : 1);
      const grounds = isSvg ? behindSvg(parent) : [behindHtml(parent)];
      const worst = Math.min(...grounds.map(ground => ratio(over(ink, ground), ground)));
      const owner = parent.closest('[data-id], [data-request], [class]');
      const at = owner?.getAttribute('data-id') ?? owner?.getAttribute('class') ?? '';
      rows.push({text: text.slice(0, 60), at: at, worst: Math.round(worst * 100) / 100});
    }
  }
  return rows;
}
