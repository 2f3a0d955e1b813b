makeTable();
makeSky();
makeDetails();
makeFeatures();
makeProfile();
makeTrust();
addEventListener("hashchange", selectFromAddress);
selectFromAddress();
document.documentElement.dataset.ready = "true";
