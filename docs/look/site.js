(function () {
  var SMALLEST = 0.75;  // of a picture: below, its letters are no letters

  document.addEventListener("DOMContentLoaded", function () {
    // The theme's captions are headings without a level.
    all('[role="heading"]:not([aria-level])', function (e) {
      e.setAttribute("aria-level", "2");
    });
    all("article img", function (img) {
      if (img.closest(".helpers-player, .helpers-panel")) return;
      if (img.complete) keep_readable(img);
      img.addEventListener("load", function () { keep_readable(img); });
    });
    all("pre, .cell_output > .output, .own-picture", reach_by_key);
    all("div.highlight", add_copy);
  });

  function all(selector, action) {
    document.querySelectorAll(selector).forEach(action);
  }

  // On a narrow screen a picture scrolls before it is too small to read.
  function keep_readable(img) {
    img.style.minWidth = Math.round(img.naturalWidth * SMALLEST) + "px";
    reach_by_key(img.parentNode);
  }

  // What scrolls can be reached by key.
  function reach_by_key(e) {
    if (e.scrollWidth > e.clientWidth) e.tabIndex = 0;
  }

  function add_copy(block) {
    if (block.closest(".cell_output")) return;
    var code = code_of(block.querySelector("pre").textContent);
    var button = document.createElement("button");
    button.type = "button";
    button.className = "copy-code";
    button.textContent = "copy";
    button.setAttribute("aria-label", "copy this code");
    button.setAttribute("aria-live", "polite");
    button.addEventListener("click", function () {
      copy(code).then(function () { say("copied"); },
                      function () { say("select it by hand"); });
    });
    block.appendChild(button);
    function say(word) {
      button.textContent = word;
      button.setAttribute("aria-label", word);
      setTimeout(function () {
        button.textContent = "copy";
        button.setAttribute("aria-label", "copy this code");
      }, 2000);
    }
  }

  // A session without its prompts and without what it printed.
  function code_of(text) {
    if (!/^>>> /.test(text)) return text;
    return text.split("\n").filter(function (line) {
      return /^(>>>|\.\.\.)( |$)/.test(line);
    }).map(function (line) { return line.slice(4); }).join("\n") + "\n";
  }

  // A page on a plain http address has no clipboard of its own.
  function copy(text) {
    if (navigator.clipboard) return navigator.clipboard.writeText(text);
    var area = document.createElement("textarea");
    area.value = text;
    document.body.appendChild(area);
    area.select();
    var done = document.execCommand("copy");
    area.remove();
    return done ? Promise.resolve() : Promise.reject();
  }
})();
