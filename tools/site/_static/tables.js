// On a phone a wide table becomes a list: each cell says its column's name, so that no number is off the screen.
document.addEventListener("DOMContentLoaded", function () {
  document.querySelectorAll(".bd-article table").forEach(function (table) {
    var heads = [];  // of every row: pandas names the index in a row of its own
    table.querySelectorAll("thead tr").forEach(function (row) {
      var place = 0;
      Array.from(row.cells).forEach(function (head) {
        for (var end = place + head.colSpan; place < end; place++) {
          heads[place] = ((heads[place] || "") + " " + head.textContent.replace(/\\[()]/g, "").trim()).trim();  // \(z\) is z
        }
      });
    });
    if (heads.length < 4 && table.offsetWidth <= table.parentElement.clientWidth) return;
    table.classList.add("wide-table");
    table.querySelectorAll("th .pre").forEach(function (name) {  // a name may be broken at its underscores
      name.innerHTML = name.innerHTML.replace(/_/g, "_<wbr>");
    });
    table.querySelectorAll("tbody tr").forEach(function (row) {
      Array.from(row.cells).forEach(function (cell, place) {
        cell.dataset.column = heads[place] || "";
        if (!cell.textContent.trim() && !cell.querySelector("img")) cell.dataset.empty = "";
      });
    });
  });
});
