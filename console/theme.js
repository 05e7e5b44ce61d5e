// Sets the theme before the first paint. It is a classic script in the head, so the browser waits for it.
{
  let chosen
  try {
    chosen = localStorage.getItem('callplane.theme')
  } catch {
    // Storage is switched off: the page follows the system.
  }
  document.documentElement.dataset.theme = chosen === 'dark' || chosen === 'light' ? chosen : 'system'
}
