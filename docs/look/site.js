// The theme's captions are headings without a level.
document.addEventListener("DOMContentLoaded", function () {
  document.querySelectorAll('[role="heading"]:not([aria-level])')
    .forEach(function (e) { e.setAttribute("aria-level", "2"); });
  // What scrolls can be reached by key.
  document.querySelectorAll("pre, .cell_output > .output")
    .forEach(function (e) {
      if (e.scrollWidth > e.clientWidth) e.tabIndex = 0;
    });
});
