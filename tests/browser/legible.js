([selector, figures, least]) => {
  const clips = value => value === 'hidden' || value === 'clip';
  const isShown = node => node.checkVisibility({opacityProperty: true, visibilityProperty: true});
  const leftOut = 'style, title, desc, option, select, .dra-sr, .react-flow__attribution, [popover]:not(:popover-open)';
  const words = text => JSON.stringify(text.textContent.trim().slice(0, 50));
  const owner = node => (node.closest('[class]')?.getAttribute('class') ?? '').split(' ')[0];

  // Where a text is seen: its box, and the edges of all boxes around it that scroll; null where it is scrolled away.
  const seen = (node, box) => {
    let [left, top, right, bottom] = [box.left, box.top, box.right, box.bottom];
    for (let up = node; up && up !== document.body; up = up.parentElement) {
      const style = getComputedStyle(up);
      if (style.overflowX === 'visible' && style.overflowY === 'visible') continue;
      const edge = up.getBoundingClientRect();
      [left, right] = [Math.max(left, edge.left), Math.min(right, edge.right)];
      [top, bottom] = [Math.max(top, edge.top), Math.min(bottom, edge.bottom)];
      if (style.position === 'fixed') break;
    }
    return right - left > 2 && bottom - top > 2 ? {left, top, right, bottom} : null;
  };
  const isCut = (node, box) => {
    for (let up = node; up && up !== document.body; up = up.parentElement) {
      const style = getComputedStyle(up), edge = up.getBoundingClientRect();
      if (up instanceof SVGElement && !(up instanceof SVGSVGElement)) continue;
      // What is wholly outside is left out on purpose.
      const isOut = box.right < edge.left || box.left > edge.right || box.bottom < edge.top || box.top > edge.bottom;
      if (isOut) return null;
      if (clips(style.overflowX) && (box.left < edge.left - 1.5 || box.right > edge.right + 1.5)) return up;
      if (clips(style.overflowY) && (box.top < edge.top - 3 || box.bottom > edge.bottom + 3)) return up;
      if (style.position === 'fixed' || style.overflowX === 'auto' || style.overflowX === 'scroll') break;
    }
    return null;
  };
  const isOpaque = node => {
    const colour = getComputedStyle(node).backgroundColor;
    return colour !== 'transparent' && !/, 0\)$|\/ 0\)$/.test(colour);
  };
  // Both can be read at a point if nothing opaque of the upper one lies between them.
  const areMixed = (one, other, x, y) => {
    const stack = document.elementsFromPoint(x, y);
    const [a, b] = [stack.indexOf(one), stack.indexOf(other)];
    if (a < 0 || b < 0) return one.closest('svg') !== null && one.closest('svg') === other.closest('svg');
    const [upper, lower] = [Math.min(a, b), Math.max(a, b)];
    return !stack.slice(upper, lower).some(node => !node.contains(stack[lower]) && isOpaque(node));
  };

  const found = [], texts = [];
  for (const root of document.querySelectorAll(selector)) {
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    for (let text = walker.nextNode(); text; text = walker.nextNode()) {
      const node = text.parentElement;
      if (!text.textContent.trim() || !isShown(node)) continue;
      if (node.closest(leftOut)) continue;
      const range = document.createRange();
      range.selectNodeContents(text);
      const boxes = [...range.getClientRects()].filter(box => box.width > 1 && box.height > 1);
      const scale = node instanceof SVGElement ? Math.abs(node.getScreenCTM()?.a ?? 1) : 1;
      const size = parseFloat(getComputedStyle(node).fontSize) * scale;
      if (boxes.length && size < least - 0.05) found.push(`${size.toFixed(1)} px: ${words(text)} in ${owner(node)}`);
      if (boxes.length && node.matches(figures) && size < 17.9)
        found.push(`figure of ${size.toFixed(1)} px: ${words(text)} in ${owner(node)}`);
      const isDotted = node.matches(figures) && text.textContent.trim().endsWith('…');
      if (isDotted) found.push(`figure ends in …: ${words(text)}`);
      const style = getComputedStyle(node);
      const isWide = style.textOverflow === 'ellipsis' && node.scrollWidth > node.clientWidth + 1;
      const isHigh = style.webkitLineClamp !== 'none' && node.scrollHeight > node.clientHeight + 2;
      if (isWide || isHigh) found.push(`ends in …: ${words(text)} in ${owner(node)}`);
      for (const box of boxes) {
        const cut = isCut(node, box);
        if (cut) found.push(`cut by ${owner(cut)}: ${words(text)} in ${owner(node)}`);
        const at = seen(node, box);
        if (at) texts.push({node, text, at});
      }
    }
  }
  texts.sort((one, other) => one.at.left - other.at.left);
  texts.forEach((one, index) => {
    for (const other of texts.slice(index + 1)) {
      if (other.at.left > one.at.right - 2) break;
      if (one.text === other.text || one.node.contains(other.node) || other.node.contains(one.node)) continue;
      const [left, right] = [Math.max(one.at.left, other.at.left), Math.min(one.at.right, other.at.right)];
      const [top, bottom] = [Math.max(one.at.top, other.at.top), Math.min(one.at.bottom, other.at.bottom)];
      if (right - left < 2 || bottom - top < 4) continue;
      if (areMixed(one.node, other.node, (left + right) / 2, (top + bottom) / 2))
        found.push(`${words(one.text)} in ${owner(one.node)} over ${words(other.text)} in ${owner(other.node)}`);
    }
  });
  return [texts.length, [...new Set(found)]];
}
