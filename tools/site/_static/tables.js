// On a phone a wide table becomes a list: each cell says its column's name, so that no number is off the screen.
document.addEventListener("DOMContentLoaded", function () {
  document.querySelectorAll(".bd-article table").forEach(function (table) {
    var heads = Array.from(table.querySelectorAll("thead tr:last-child th"), function (head) { return head.textContent.trim(); });
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
