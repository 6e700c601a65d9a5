// Sections that JupyterLab shows collapsed are folded; a link opens what is folded around its place.
function fold() {
  document.querySelectorAll(".fold-here").forEach(function (mark) {
    var section = mark.closest("section"), folded = document.createElement("details");
    folded.className = "section";
    var bar = folded.appendChild(document.createElement("summary"));
    bar.append(section.querySelector(":is(h2, h3, h4)"));
    if (mark.dataset.contains) {
      folded.classList.add("part");
      bar.appendChild(document.createElement("span")).textContent = mark.dataset.contains + ".";
    }
    folded.append(...Array.from(section.childNodes).filter(function (part) { return part !== mark; }));
    section.replaceChildren(...section.querySelectorAll(":scope > span[id]"), folded);
  });
}
// A link to the code of a figure opens what is folded between that place and the figure as well.
function unfold() {
  var place = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!place) return;
  var around = [...place.querySelectorAll(":scope > details.section")];
  for (var part = place; part; part = part.parentElement) if (part.tagName === "DETAILS") around.push(part);
  around.forEach(function (folded) { folded.open = true; });
  var figure = place.id.startsWith("code-") && document.getElementById(place.id.slice("code-".length));
  if (figure) document.querySelectorAll(".cell details.hide").forEach(function (folded) {
    var after = place.compareDocumentPosition(folded) & Node.DOCUMENT_POSITION_FOLLOWING;
    if (after && figure.compareDocumentPosition(folded) & Node.DOCUMENT_POSITION_PRECEDING) folded.open = true;
  });
  if (around.length) place.scrollIntoView();
}
// What a control says is its name: the theme names some by other words.
function name() {
  document.querySelectorAll("summary[aria-label], .search-button-field").forEach(function (control) {
    if (control.innerText.trim()) control.removeAttribute("aria-label");  // on a phone the button is an icon alone
  });
}
// What the search shows of a page is prose, not code.
function read() {
  if (typeof Search === "undefined") return;
  var text = Search.htmlToText;
  Search.htmlToText = function (html, anchor) {
    var page = new DOMParser().parseFromString(html, "text/html");
    page.querySelectorAll(".cell_input, details.hide, pre").forEach(function (code) { code.remove(); });
    return text.call(Search, page.documentElement.outerHTML, anchor);
  };
}
window.addEventListener("hashchange", unfold);
document.addEventListener("DOMContentLoaded", function () { fold(); unfold(); name(); read(); });
