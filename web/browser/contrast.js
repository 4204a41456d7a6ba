// Runs in the page: texts whose contrast with what is behind them is below 4.5 (WCAG 2.2, 1.4.3, AA).
(() => {
  const rgb = (text) => {
    const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
    canvas.fillStyle = text;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const cache = new Map();
  const colour = (text) => cache.get(text) ?? (cache.set(text, rgb(text)), cache.get(text));
  const light = ([r, g, b]) =>
    [r, g, b].map((part) => part / 255).map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
      .reduce((sum, part, place) => sum + part * [0.2126, 0.7152, 0.0722][place], 0);
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const found = colour(getComputedStyle(at).backgroundColor);
      if (found[3] > 0.99) return found;
    }
    return [255, 255, 255, 1];
  };
  const poor = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || !element.checkVisibility({ opacityProperty: true }) || element.closest(':disabled, .unseen, [aria-hidden=true], .old')) continue;
    const [one, other] = [light(colour(getComputedStyle(element).color)), light(behind(element))];
    const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    if (contrast < 4.5) poor.add(`${node.data.trim().slice(0, 30)} (${element.className}): ${contrast.toFixed(2)}`);
  }
  return [...poor];
})();
