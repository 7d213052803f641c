// What the theme leaves out for readers who listen, or use the keyboard alone.
document.addEventListener("DOMContentLoaded", () => {
  for (const caption of document.querySelectorAll(".sidebar-tree p.caption[role=heading]")) {
    caption.setAttribute("aria-level", "2");
  }
  document.querySelector("aside.sidebar-drawer")?.setAttribute("aria-label", "All pages");
  document.querySelector("aside.toc-drawer")?.setAttribute("aria-label", "On this page");
  for (const block of document.querySelectorAll("pre, .table-wrapper")) {
    if (block.scrollWidth > block.clientWidth) {
      block.tabIndex = 0; // the arrow keys scroll it
    }
  }
  for (const cell of document.querySelectorAll("th")) {
    if (!cell.textContent.trim()) {
      cell.innerHTML = '<span class="for-listeners">row</span>';
    }
  }
});
