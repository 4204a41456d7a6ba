'use strict';
(() => {
  const table = document.querySelector('#calls');
  const form = document.querySelector('form');
  if (!table || !form) return;
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const text = rows.map((row) => row.textContent.toLowerCase() + ' ' + row.dataset.id.toLowerCase());
  const search = form.elements.text;
  const note = form.elements.note;
  const count = form.querySelector('output');

  const filter = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let left = 0;
    rows.forEach((row, index) => {
      const notes = row.dataset.notes.split(' ').filter(Boolean);
      const noted = !note.value || (note.value === '*' ? notes.length > 0 : notes.includes(note.value));
      row.hidden = !(noted && words.every((word) => text[index].includes(word)));
      const section = document.getElementById('c' + row.dataset.number);
      if (section) section.hidden = row.hidden;
      if (!row.hidden) left += 1;
    });
    const all = rows.length === 1 ? '1 call' : rows.length + ' calls';
    count.value = left === rows.length ? all : left + ' of ' + all;
  };

  // Where a value is not known, the row comes last in either order.
  const sort = (column, heading) => {
    const down = heading.getAttribute('aria-sort') === 'ascending';
    for (const other of table.tHead.rows[0].cells) other.removeAttribute('aria-sort');
    heading.setAttribute('aria-sort', down ? 'descending' : 'ascending');
    const value = (row) => row.cells[column].dataset.value ?? row.cells[column].textContent;
    const order = (a, b) => {
      const [x, y] = [value(a), value(b)];
      if (x === '' || y === '') return (x === '') - (y === '');
      const [m, n] = [Number(x), Number(y)];
      const less = Number.isNaN(m) || Number.isNaN(n) ? x.localeCompare(y) : m - n;
      return down ? -less : less;
    };
    body.append(...rows.slice().sort(order));
  };

  [...table.tHead.rows[0].cells].forEach((heading, column) => {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = heading.textContent;
    heading.replaceChildren(button);
    button.addEventListener('click', () => sort(column, heading));
  });

  const open = () => {
    const found = /^#c\d+$/.test(location.hash) && document.querySelector(location.hash);
    const details = found && found.querySelector('details');
    if (details) {
      details.open = true;
      found.scrollIntoView();
      details.querySelector('summary').focus({ preventScroll: true });
    }
  };

  form.hidden = false;
  form.addEventListener('submit', (event) => event.preventDefault());
  form.addEventListener('input', filter);
  document.addEventListener('keydown', (event) => {
    if (event.key === '/' && !event.target.closest('input,select,audio') && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      search.focus();
    }
  });
  addEventListener('hashchange', open);
  filter();
  open();
})();
