/* A confirmation: first focus on Cancel, the press is inert for half a second and only a person can make it. */
const press = document.querySelector('[data-press]');
document.querySelector('[data-first]')?.focus();
press.setAttribute('aria-disabled', 'true');
const ready = setTimeout(() => press.removeAttribute('aria-disabled'), 500);
press.form.addEventListener('submit', event => {
  if (press.hasAttribute('aria-disabled') || press.form.dataset.sent) event.preventDefault();
  else press.form.dataset.sent = 'yes';
});
addEventListener('pagehide', () => clearTimeout(ready));
