// A link to the code of a figure opens what is folded between that place and the figure.
function unfold() {
  var start = location.hash.startsWith("#code-") && document.getElementById(location.hash.slice(1));
  var figure = start && document.getElementById(start.id.slice("code-".length));
  if (!figure) return;
  document.querySelectorAll(".cell details.hide").forEach(function (folded) {
    var after = start.compareDocumentPosition(folded) & Node.DOCUMENT_POSITION_FOLLOWING;
    if (after && figure.compareDocumentPosition(folded) & Node.DOCUMENT_POSITION_PRECEDING) folded.open = true;
  });
}
window.addEventListener("hashchange", unfold);
document.addEventListener("DOMContentLoaded", unfold);
