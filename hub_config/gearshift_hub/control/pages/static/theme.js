/* Before anything is drawn: without a chosen theme, follow the system's. */
(() => {
  const body = document.body;
  if (body.dataset.theme !== 'auto') return;
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const set = () => {
    body.dataset.jpThemeLight = String(!dark.matches);
    const link = document.querySelector('[data-theme-link]');
    if (!link) return;
    const to = dark.matches ? 'light' : 'dark';
    link.href = link.dataset[to];
    link.title = link.dataset[`${to}Label`];
    link.setAttribute('aria-label', link.title);
  };
  set();
  addEventListener('DOMContentLoaded', set);
  dark.addEventListener('change', set);
})();
